//! Files that state lengths which are not there. Each is read with 1 GiB of address space, so that
//! whoever reserves what is stated fails.

use crate::Scratch;

/// What no process has.
const STATED: u64 = 1 << 44;
const ADDRESS_SPACE_KIB: u64 = 1 << 20;

#[track_caller]
fn is_refused(name: &str, bytes: &[u8], options: &str, parts: &[&str]) {
    let scratch = Scratch::new();
    scratch.write(name, bytes);
    let line = format!("pack {name} -o store --threads 1 {options}");
    let parts: Vec<&str> = [&[name][..], parts].concat();
    scratch.run_within(ADDRESS_SPACE_KIB, &line).fails_naming(&parts);
    assert!(!scratch.path("store").exists());
}

/// Puts `new` in the place of each `old`.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = bytes
        .windows(old.len())
        .enumerate()
        .filter(|(_, at)| *at == old)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty(), "{old:?} does not stand there");
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

#[test]
fn arrays_of_numpy_of_more_rows_than_there_are_end_where_they_end() {
    let mut header =
        "{'descr': '<u8', 'fortran_order': False, 'shape': (1099511627776,), }".to_string();
    header.push_str(&" ".repeat(117 - header.len()));
    header.push('\n');
    let bytes = [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), &crate::raw(&[1; 4])].concat();
    is_refused("a.npy", &bytes, "", &["it ends after 4 of 1099511627776 rows"]);
}

#[test]
fn a_dictionary_of_xz_that_is_too_large_is_refused() {
    use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
    use std::io::Write;

    let with_dictionary = |bytes: u32| {
        let mut options = LzmaOptions::new_preset(0).unwrap();
        options.dict_size(bytes);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        let stream = Stream::new_stream_encoder(&filters, Check::Crc32).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(b"0x1 0x2").unwrap();
        encoder.finish().unwrap()
    };
    let parts = ["cannot decompress xz: its dictionary takes more than 128 MiB; compress it with"];
    is_refused("a.xz", &with_dictionary(1 << 30), "", &parts);
    let scratch = Scratch::new();
    // As `xz -9` makes them.
    scratch.write("a.xz", with_dictionary(64 << 20));
    scratch.run("pack a.xz -o store --quiet").succeeds();
    assert_eq!(scratch.dump("store"), [1, 2]);
}

#[cfg(feature = "arrow")]
mod arrow {
    use arrow_ipc::CompressionType;
    use arrow_ipc::{Endianness, MessageBuilder, MessageHeader, MetadataVersion, SchemaBuilder};

    use super::{STATED, is_refused, replaced};
    use crate::Scratch;
    use crate::writers::batches::{COLUMNS, Column, batches, file, stream};

    const CODECS: [CompressionType; 2] = [CompressionType::LZ4_FRAME, CompressionType::ZSTD];

    fn column(name: &str) -> Column {
        COLUMNS.iter().find(|(kind, _)| *kind == name).unwrap().1
    }

    /// A file of few bytes, of which the columns can be compressed.
    fn small(kind: &str, codec: CompressionType) -> Vec<u8> {
        let set: Vec<u64> = (0..1000).collect();
        file(&batches(&set, column(kind)), Some(codec))
    }

    fn length(bytes: u64) -> [u8; 8] {
        bytes.to_le_bytes()
    }

    #[test]
    fn a_compressed_buffer_that_states_more_than_it_can_hold_is_refused() {
        for codec in CODECS {
            let bytes = replaced(&small("uint64", codec), &length(8000), &length(STATED));
            let parts = ["a buffer states 17592186044416 bytes, and has ", "before byte "];
            is_refused("a.arrow", &bytes, "", &parts);
            is_refused("a.arrow", &bytes, "--on-error skip", &parts);
            let negative = replaced(&small("uint64", codec), &length(8000), &[0xfe; 8]);
            is_refused("a.arrow", &negative, "", &["states -72340172838076674 bytes"]);
        }
    }

    #[test]
    fn a_dictionary_that_states_more_than_it_can_hold_is_refused() {
        for codec in CODECS {
            let bytes = replaced(&small("dictionary", codec), &length(16_000), &length(STATED));
            is_refused("a.arrow", &bytes, "", &["a buffer states 17592186044416 bytes"]);
        }
    }

    #[test]
    fn what_can_be_true_is_held_to_the_memory() {
        // zstd can make 32768 bytes of one, so that much may be true.
        let zeros = vec![0; 2_200_000];
        let whole = file(&batches(&zeros[..9000], column("uint64")), Some(CompressionType::ZSTD));
        let bytes = replaced(&whole, &length(72_000), &length(500_000));
        is_refused("a.arrow", &bytes, "", &["Arrow IPC is cut or damaged: before byte "]);
        let one = crate::writers::batches::batch(zeros.len(), column("uint64")(&zeros));
        let bytes = file(&[one], Some(CompressionType::ZSTD));
        is_refused(
            "a.arrow",
            &bytes,
            "--memory 16MiB",
            &[
                "a message takes ",
                "--memory allows 16777216; give more, or write smaller record batches",
            ],
        );
        let scratch = Scratch::new();
        scratch.write("a.arrow", bytes);
        scratch.run("pack a.arrow -o store --memory 64MiB --quiet").succeeds();
        assert_eq!(scratch.dump("store"), [0]);
    }

    #[test]
    fn other_columns_are_not_decoded() {
        let bytes = small("uint64", CompressionType::LZ4_FRAME);
        let scratch = Scratch::new();
        // The texts in the column of urls.
        scratch.write("a.arrow", replaced(&bytes, &length(11_890), &length(STATED)));
        scratch.run_within(super::ADDRESS_SPACE_KIB, "pack a.arrow -o store --quiet").succeeds();
        assert_eq!(scratch.dump("store"), (0..1000).collect::<Vec<u64>>());
        let parts = ["a buffer states 17592186044416 bytes"];
        let bytes = replaced(&bytes, &length(11_890), &length(STATED));
        is_refused("a.arrow", &bytes, "--id-column url", &parts);
    }

    #[test]
    fn a_body_that_is_not_there_is_not_reserved() {
        let bytes = stream(&batches(&[1, 2, 3], column("uint64")), None);
        let schema_bytes = u32::from_le_bytes(*bytes[4..].first_chunk().unwrap()) as usize;
        let batch = &bytes[8 + schema_bytes..];
        let head_bytes = u32::from_le_bytes(*batch[4..].first_chunk().unwrap()) as usize;
        let body_bytes =
            arrow_ipc::root_as_message(&batch[8..][..head_bytes]).unwrap().bodyLength();
        for (stated, parts) in [
            (STATED as i64, ["a message takes 17592186044416 bytes", "give more"]),
            (1 << 24, ["it ends inside of a message", "byte "]),
            (-8, ["a message of negative length", "byte "]),
        ] {
            let head = replaced(
                &batch[..8 + head_bytes],
                &body_bytes.to_le_bytes(),
                &stated.to_le_bytes(),
            );
            let hostile = [&bytes[..8 + schema_bytes], &head, &batch[8 + head_bytes..]].concat();
            is_refused("a.arrows", &hostile, "--memory 64MiB", &parts);
        }
    }

    #[test]
    fn a_buffer_outside_of_its_body_is_refused() {
        let set: Vec<u64> = (0..1000).collect();
        let bytes = stream(&batches(&set, column("uint64")), None);
        // The length of the column in the list of buffers.
        let bytes = replaced(&bytes, &length(8000), &length(STATED));
        is_refused("a.arrows", &bytes, "", &["a buffer of 17592186044416 bytes at byte "]);
    }

    #[test]
    fn a_description_that_is_too_long_is_refused() {
        let hostile = [&[0xff; 4], &0x7fff_fff0_u32.to_le_bytes()[..], &[0; 100]].concat();
        let parts = ["a description of 2147483632 bytes, where 16777216 are the most"];
        is_refused("a.arrows", &hostile, "--format arrow", &parts);
    }

    #[test]
    fn integers_of_the_other_byte_order_are_refused() {
        let mut builder = flatbuffers::FlatBufferBuilder::new();
        let mut schema = SchemaBuilder::new(&mut builder);
        schema.add_endianness(Endianness::Big);
        let schema = schema.finish();
        let mut message = MessageBuilder::new(&mut builder);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::Schema);
        message.add_header(schema.as_union_value());
        let message = message.finish();
        builder.finish(message, None);
        let mut head = builder.finished_data().to_vec();
        head.resize(head.len().next_multiple_of(8), 0);
        let hostile = [&[0xff; 4], &(head.len() as u32).to_le_bytes()[..], &head, &[0; 8]].concat();
        is_refused("a.arrows", &hostile, "", &["its integers are big-endian"]);
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::sync::Arc;

    use ::parquet::basic::Compression;
    use ::parquet::file::metadata::{
        ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
    };

    use super::is_refused;
    use crate::writers::batches::{COLUMNS, batches, parquet};

    /// An integer of Thrift's compact protocol.
    fn integer(value: i64) -> Vec<u8> {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        let mut bytes = Vec::new();
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    /// The header of a page: of data, or of a dictionary.
    fn header(is_dictionary: bool, uncompressed: i64, compressed: i64, values: i64) -> Vec<u8> {
        let kind = if is_dictionary { 2 } else { 0 };
        let mut bytes = Vec::new();
        for field in [kind, uncompressed, compressed] {
            bytes.push(0x15);
            bytes.extend(integer(field));
        }
        bytes.push(if is_dictionary { 0x4c } else { 0x2c });
        let encodings: &[i64] = if is_dictionary { &[0] } else { &[0, 3, 3] };
        for field in [&[values], encodings].concat() {
            bytes.push(0x15);
            bytes.extend(integer(field));
        }
        bytes.extend([0, 0]);
        bytes
    }

    fn metadata(bytes: &[u8]) -> ParquetMetaData {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap()
    }

    /// A file whose column of fingerprints has these bytes, and states so many more.
    fn with_chunk(compression: Compression, dictionary: bool, chunk: &[u8], more: i64) -> Vec<u8> {
        with_column("uint64", compression, dictionary, chunk, more)
    }

    fn with_column(
        kind: &str,
        compression: Compression,
        dictionary: bool,
        chunk: &[u8],
        more: i64,
    ) -> Vec<u8> {
        let (_, column) = COLUMNS.iter().find(|(name, _)| *name == kind).unwrap();
        let whole = parquet(&batches(&[1, 2, 3], *column), Compression::UNCOMPRESSED);
        let whole = metadata(&whole);
        let mut file = b"PAR1".to_vec();
        let start = file.len() as i64;
        file.extend(chunk);
        let group = whole.row_group(0).clone();
        let columns = group.columns().iter().map(|column| {
            let builder = column
                .clone()
                .into_builder()
                .set_compression(compression)
                .set_dictionary_page_offset(dictionary.then_some(start))
                .set_data_page_offset(start)
                .set_total_compressed_size(chunk.len() as i64 + more);
            builder.build().unwrap()
        });
        let columns = columns.collect();
        let group = group.into_builder().set_column_metadata(columns).build().unwrap();
        let hostile = ParquetMetaData::new(whole.file_metadata().clone(), vec![group]);
        ParquetMetaDataWriter::new(&mut file, &hostile).finish().unwrap();
        file
    }

    #[test]
    fn a_page_that_states_more_than_it_can_hold_is_refused() {
        for compression in
            [Compression::SNAPPY, Compression::LZ4_RAW, Compression::GZIP(Default::default())]
        {
            let page = [header(false, i64::from(i32::MAX), 20, 3), vec![0; 20]].concat();
            let bytes = with_chunk(compression, false, &page, 0);
            let parts = ["the page at byte 4 states 2147483647 bytes, and has 20 compressed ones"];
            is_refused("a.parquet", &bytes, "", &parts);
            let negative = [header(false, -1, 20, 3), vec![0; 20]].concat();
            let bytes = with_chunk(compression, false, &negative, 0);
            is_refused("a.parquet", &bytes, "", &["the page at byte 4 has a negative length"]);
        }
    }

    #[test]
    fn a_compression_that_is_not_read_is_told_by_its_name() {
        let page = [header(false, 24, 24, 3), vec![0; 24]].concat();
        for (compression, name) in
            [(Compression::BROTLI(Default::default()), "Brotli"), (Compression::LZO, "LZO")]
        {
            let bytes = with_chunk(compression, false, &page, 0);
            let told = format!("fingerprint\" is compressed by {name}, which is not read");
            is_refused("a.parquet", &bytes, "", &[&told, "; write it again with ZSTD"]);
        }
    }

    #[test]
    fn pages_are_held_to_the_memory() {
        let page = [header(false, 20 << 20, 1000, 3), vec![0; 1000]].concat();
        let bytes = with_chunk(Compression::ZSTD(Default::default()), false, &page, 0);
        let parts = ["the page at byte 4 has 20971520 bytes, where 16777216 are allowed"];
        is_refused("a.parquet", &bytes, "--memory 16MiB", &parts);
    }

    #[test]
    fn a_dictionary_that_states_more_values_than_it_can_hold_is_refused() {
        let page = [header(true, 64, 64, i64::from(i32::MAX)), vec![0; 64]].concat();
        let bytes = with_chunk(Compression::UNCOMPRESSED, true, &page, 0);
        let parts = ["the dictionary at byte 4 states 2147483647 values, and has 64 bytes"];
        is_refused("a.parquet", &bytes, "", &parts);
    }

    #[test]
    fn a_column_that_is_longer_than_the_file_is_refused() {
        let page = [header(false, 24, 24, 3), vec![0; 24]].concat();
        let bytes = with_chunk(Compression::UNCOMPRESSED, false, &page, 1 << 44);
        is_refused(
            "a.parquet",
            &bytes,
            "",
            &["a column of 17592186044", " bytes at byte 4, in a file of "],
        );
    }

    /// A page of delta-coded texts that states so many lengths.
    fn delta_page(encoding: i64, lengths: &[u8]) -> Vec<u8> {
        // No text is null: so many ones as definition levels.
        let levels = [&2_u32.to_le_bytes()[..], &[6, 1]].concat();
        let data = [&levels[..], &[0x80, 1, 4], lengths, &[0; 20]].concat();
        let mut page = vec![0x15, 0];
        for field in [data.len() as i64; 2] {
            page.push(0x15);
            page.extend(integer(field));
        }
        page.push(0x2c);
        for field in [3, encoding, 3, 3] {
            page.push(0x15);
            page.extend(integer(field));
        }
        page.extend([0, 0]);
        [page, data].concat()
    }

    #[test]
    fn lengths_of_texts_that_are_not_there_are_refused() {
        // 2^40.
        let stated = [0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
        for encoding in [6, 7] {
            let page = delta_page(encoding, &stated);
            let bytes = with_column("hex", Compression::UNCOMPRESSED, false, &page, 0);
            is_refused("a.parquet", &bytes, "", &["a page states 1099511627776 lengths"]);
        }
    }

    #[test]
    fn texts_that_share_long_beginnings_are_held_to_the_memory() {
        use ::parquet::arrow::ArrowWriter;
        use ::parquet::basic::Encoding;
        use ::parquet::file::properties::WriterProperties;
        use ::parquet::schema::types::ColumnPath;
        use arrow_array::{RecordBatch, StringArray};

        let write = |rows: usize, zeros: usize| {
            let text = format!("{}17", "0".repeat(zeros));
            let texts = StringArray::from_iter_values(std::iter::repeat_n(&text, rows));
            let batch = RecordBatch::try_from_iter([("fingerprint", Arc::new(texts) as _)]);
            let batch = batch.unwrap();
            let properties = WriterProperties::builder()
                .set_dictionary_enabled(false)
                .set_column_encoding(ColumnPath::from("fingerprint"), Encoding::DELTA_BYTE_ARRAY)
                .build();
            let mut writer =
                ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.into_inner().unwrap()
        };
        let hostile = write(3000, 20_000);
        assert!(hostile.len() < 100_000, "{}", hostile.len());
        let parts = ["texts of 60006000 bytes in a page, where 16777216 are allowed"];
        is_refused("a.parquet", &hostile, "--format auto,dec --memory 16MiB", &parts);
        let scratch = crate::Scratch::new();
        scratch.write("a.parquet", write(3000, 14));
        scratch.run("pack a.parquet -o store --quiet --format auto,dec --memory 16MiB").succeeds();
        assert_eq!(scratch.dump("store"), [17]);
    }

    #[test]
    fn a_footer_that_is_longer_than_the_file_is_refused() {
        let mut bytes = parquet(&batches(&[1], COLUMNS[0].1), Compression::SNAPPY);
        let end = bytes.len() - 8;
        bytes[end..end + 4].fill(0xff);
        is_refused("a.parquet", &bytes, "", &["a footer of 4294967295 bytes, in a file of "]);
    }

    /// A file with nothing but a schema of these elements: the bytes of a name, and children.
    fn with_schema(elements: impl ExactSizeIterator<Item = (usize, i64)>) -> Vec<u8> {
        // The version, and a list of structures.
        let mut footer = vec![0x15, 2, 0x19, 0xfc];
        let mut count = elements.len();
        while count >= 0x80 {
            footer.push(count as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        for (name, children) in elements {
            footer.extend([0x35, 0, 0x18]);
            // Lengths are not signed.
            footer.extend(integer(name as i64 / 2).iter());
            footer.extend(vec![b'a'; name / 2 * 2]);
            footer.push(0x15);
            footer.extend(integer(children));
            footer.push(0);
        }
        footer.push(0);
        let length = footer.len() as u32;
        [b"PAR1", &footer[..], &length.to_le_bytes(), b"PAR1"].concat()
    }

    #[test]
    fn a_schema_that_is_nested_without_end_is_refused() {
        let bytes = with_schema((0..200_000).map(|_| (2, 1)));
        is_refused("a.parquet", &bytes, "", &["groups of columns are nested too deeply"]);
    }

    #[test]
    fn names_that_grow_with_every_column_are_refused() {
        let elements = [(2, 1), (100_000, 100_000)].into_iter().chain((0..100_000).map(|_| (2, 0)));
        let elements: Vec<(usize, i64)> = elements.collect();
        let bytes = with_schema(elements.into_iter());
        is_refused("a.parquet", &bytes, "", &["the names of its columns are too long"]);
    }

    #[test]
    fn a_long_text_that_many_rows_share_is_in_memory_once() {
        use arrow_array::types::Int32Type;
        use arrow_array::{DictionaryArray, Int32Array, RecordBatch, StringArray};
        // More than the address space that the pack gets.
        let text = StringArray::from(vec![format!("{}17", "0".repeat(400 << 10))]);
        let keys = Int32Array::from(vec![0; 1400]);
        let texts = DictionaryArray::<Int32Type>::new(keys, Arc::new(text));
        let batch = RecordBatch::try_from_iter([("fingerprint", Arc::new(texts) as _)]);
        let bytes = parquet(&[batch.unwrap()], Compression::SNAPPY);
        let scratch = crate::Scratch::new();
        scratch.write("a.parquet", bytes);
        let line = "pack a.parquet -o store --quiet --threads 1 --format auto,dec";
        scratch.run_within(super::ADDRESS_SPACE_KIB / 2, line).succeeds();
        assert_eq!(scratch.dump("store"), [17]);
    }
}

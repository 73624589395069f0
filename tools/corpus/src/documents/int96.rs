//! Times of 96 bits in Parquet, which Spark writes by default and nothing here writes again: they
//! come out in nanoseconds, or in microseconds where some are too far away for these.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use fpstore_records::Groups;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::Int96;
use parquet::errors::Result;

/// Values that are looked at together.
const VALUES: usize = 1024;
const DAY_NANOS: i128 = 86_400_000_000_000;
/// The day of 1970-01-01, by which these days are counted.
const FIRST_DAY: i128 = 2_440_588;

/// The places of the columns that come out in microseconds.
///
/// # Errors
/// The inner one is a column whose times are neither: some too far away for 64 bits of nanoseconds,
/// and some of parts of a microsecond, or inside of lists and groups.
pub fn in_microseconds(groups: &Groups) -> Result<std::result::Result<Vec<usize>, String>> {
    let schema = groups.metadata().file_metadata().schema_descr_ptr();
    let mut found = Vec::new();
    for leaf in
        (0..schema.num_columns()).filter(|&leaf| schema.column(leaf).physical_type() == Type::INT96)
    {
        let (mut are_near, mut are_whole) = (true, true);
        for pages in groups.column_chunks(leaf)? {
            let reader = get_column_reader(schema.column(leaf), pages?);
            let ColumnReader::Int96ColumnReader(mut reader) = reader else { continue };
            let (mut times, mut definitions, mut repetitions) =
                (Vec::new(), Vec::new(), Vec::new());
            loop {
                times.clear();
                definitions.clear();
                repetitions.clear();
                let levels = (Some(&mut definitions), Some(&mut repetitions));
                if reader.read_records(VALUES, levels.0, levels.1, &mut times)?.0 == 0 {
                    break;
                }
                let nanos = times.iter().map(nanoseconds);
                nanos.for_each(|nanos| {
                    are_near &= i64::try_from(nanos).is_ok();
                    are_whole &= nanos % 1000 == 0 && i64::try_from(nanos / 1000).is_ok();
                });
            }
        }
        let (path, root) = (schema.column(leaf).path().clone(), schema.get_column_root_idx(leaf));
        match are_near {
            true => {}
            false if are_whole && path.parts().len() == 1 => found.push(root),
            false => return Ok(Err(path.string())),
        }
    }
    Ok(Ok(found))
}

/// The nanoseconds since 1970 of a time: of its day, and the number of the day.
fn nanoseconds(time: &Int96) -> i128 {
    let [low, high, day] = time.data() else { return 0 };
    let of_day = i128::from(*low) | i128::from(*high) << 32;
    (i128::from(*day as i32) - FIRST_DAY) * DAY_NANOS + of_day
}

/// The schema with these columns in microseconds.
pub fn with_microseconds(schema: &Schema, columns: &[usize]) -> SchemaRef {
    let field = |(place, field): (usize, &Arc<Field>)| match columns.contains(&place) {
        true => {
            let of = DataType::Timestamp(TimeUnit::Microsecond, None);
            Arc::new(Field::clone(field).with_data_type(of))
        }
        false => field.clone(),
    };
    let fields: Vec<_> = schema.fields().iter().enumerate().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_nanoseconds_of_its_day_behind_those_of_all_days_before() {
        let time = |nanos: u64, day: i32| {
            nanoseconds(&Int96::from(vec![nanos as u32, (nanos >> 32) as u32, day as u32]))
        };
        assert_eq!((time(0, 2_440_588), time(17, 2_440_588)), (0, 17));
        assert_eq!(time(86_399_999_999_999, 2_440_587), -1);
        // 3000-01-01 and 0001-01-01, which Julian days call so.
        assert_eq!(time(0, 2_816_788), 32_503_680_000 * 1_000_000_000);
        assert_eq!(time(0, 1_721_426), -62_135_596_800 * 1_000_000_000);
    }
}

//! Structures of options, which may grow.

use std::ffi::c_char;
use std::time::Duration;

use fpstore::{
    Design, Durability, Execution, Layout, OpenOptions, Packer, StoreOptions, WriterOptions,
};

use crate::error::{Failure, Result};
use crate::id;
use crate::input;

/// On disk within some milliseconds, together with all else that is written meanwhile; survives the
/// end of the program at once.
pub const FPS_DURABILITY_GROUP: u32 = 0;
/// On disk when the call returns.
pub const FPS_DURABILITY_IMMEDIATE: u32 = 1;
/// On disk with a later commit that asks for more; survives the end of the program at once.
pub const FPS_DURABILITY_EVENTUAL: u32 = 2;

/// How a store is opened. Start from `FPS_OPEN_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_open_options {
    /// `sizeof(fps_open_options)`.
    pub size: usize,
    /// Bytes of memory in which searches build what makes them faster, 32 for each fingerprint of
    /// 64 bits; 0 builds nothing, and a negative number takes a 64th of the memory of the machine,
    /// at least 24 MiB and at most 512 MiB. -1 by default.
    pub memory_bytes: i64,
    /// Not 0 reads the files into memory. Otherwise they are mapped: who cuts them short ends the
    /// process with SIGBUS.
    pub in_memory: u8,
}

/// How a set is packed. Start from `FPS_PACK_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_pack_options {
    /// `sizeof(fps_pack_options)`.
    pub size: usize,
    /// Bits of a fingerprint: 32, 64, 128 or 256. 64 by default.
    pub bits: u32,
    /// The distance that queries will mostly ask for. 3 by default. It limits nothing.
    pub radius: u32,
    /// The tables: a name such as `"quarters"`, or widths of parts such as `"32,16,16"`. NULL lets
    /// the library choose.
    pub design: *const c_char,
    /// Part tables in place of tables, the only way for more than 64 bits. 0 lets the library
    /// choose.
    pub parts: u16,
    /// Not 0 keeps only those bits in the tables behind the first that find a fingerprint there.
    pub short_tables: u8,
    /// Not 0 replaces a store that stands at the path.
    pub replace: u8,
    /// Not 0 adds what is packed to the store at the path.
    pub append: u8,
    /// Bytes per block, a power of two from 256 to 8192. 0 lets the library choose.
    pub block_bytes: u32,
    /// What ids are, one of `FPS_ID_NUMBER` to `FPS_ID_BYTES`. 0 lets the first one decide.
    pub id_kind: u32,
    /// Bytes of each id, where these are keys.
    pub id_bytes: u32,
    /// Threads, up to 1024. 0 stands for one per core.
    pub threads: u32,
    /// Bytes of memory that the pack may take, from 16 MiB on; what does not fit goes to temporary
    /// files. 0 bounds nothing.
    pub memory_bytes: u64,
    /// The directory of temporary files. NULL is beside the output.
    pub scratch_directory: *const c_char,
    /// A line that tells how the fingerprints were made, kept with the store; NULL for none.
    pub recipe: *const c_char,
}

/// How a store is created. Start from `FPS_CREATE_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_create_options {
    /// `sizeof(fps_create_options)`.
    pub size: usize,
    /// Bits of a fingerprint: 32, 64, 128 or 256. 64 by default.
    pub bits: u32,
    /// The distance that queries will mostly ask for. 3 by default. It limits nothing.
    pub radius: u32,
    /// What ids are, `FPS_ID_NUMBER` by default: all records have one then. `FPS_ID_NONE` if none
    /// has.
    pub id_kind: u32,
    /// Bytes of each id, where these are keys.
    pub id_bytes: u32,
    /// As of `fps_pack_options`.
    pub design: *const c_char,
    /// As of `fps_pack_options`.
    pub parts: u16,
    /// As of `fps_pack_options`.
    pub short_tables: u8,
    /// As of `fps_pack_options`.
    pub recipe: *const c_char,
}

/// How a store is written. Start from `FPS_WRITER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_writer_options {
    /// `sizeof(fps_writer_options)`.
    pub size: usize,
    /// What is kept of what is written without a commit: `FPS_DURABILITY_GROUP` by default. With
    /// `FPS_DURABILITY_IMMEDIATE` each call waits for the disk.
    pub durability: u32,
    /// Milliseconds that `FPS_DURABILITY_GROUP` may take. 50 by default.
    pub sync_interval_ms: u32,
    /// Records that stay in memory, 100 to 150 bytes each, until they become a segment: 1 to 2^24.
    /// 0 stands for half a million, or 65,536 of 128 or 256 bits.
    pub tail_records: u32,
    /// Not 0 leaves flushes and merges to the calls of these names. Otherwise threads of the writer
    /// do both.
    pub no_background: u8,
}

/// How a batch runs. Start from `FPS_BATCH_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_batch_options {
    /// `sizeof(fps_batch_options)`.
    pub size: usize,
    /// The most matches that are kept of a query, the nearest ones; 0 only counts. `UINT64_MAX` by
    /// default.
    pub limit: u64,
    /// Threads, up to 1024. 0 stands for one per core.
    pub threads: u32,
    /// Milliseconds after which the batch ends with `FPS_STOPPED`. 0 bounds nothing.
    pub timeout_ms: u32,
    /// Bytes of memory that the work may take besides the answers, from 16 MiB on. 0 bounds
    /// nothing.
    pub memory_bytes: u64,
}

/// A structure with its size in front, of which every string of bytes is a value.
///
/// # Safety
///
/// `repr(C)`, its first field is `size: usize`, and it holds numbers and pointers alone.
pub(crate) unsafe trait Sized: Copy {
    /// Its name in C.
    const NAME: &'static str;

    /// What holds where nothing is given.
    fn initial() -> Self;

    /// What was given, or that; a shorter one comes from a program that was built with an earlier
    /// header.
    ///
    /// # Safety
    ///
    /// Where the pointer is not null, as many bytes stand there as its `size` says.
    unsafe fn read(given: *const Self) -> Result<Self> {
        let mut own = Self::initial();
        if given.is_null() {
            return Ok(own);
        }
        // SAFETY: the caller vouches for it.
        let size = *unsafe { input::at(given.cast::<usize>(), Self::NAME) }?;
        check_size::<Self>(size)?;
        // SAFETY: the caller vouches for so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), size) };
        if let Some(at) = bytes.iter().skip(size_of::<Self>()).position(|&byte| byte != 0) {
            let at = at + size_of::<Self>();
            return Err(Failure::input(format!(
                "byte {at} of {} is an option that this version of the library does not have; use a newer library",
                Self::NAME
            )));
        }
        let known = size.min(size_of::<Self>());
        // SAFETY: both have so many bytes, and all strings of bytes are values, by the contract of
        // the trait.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut own).cast(), known) };
        Ok(own)
    }

    /// Writes it where C wants it, as much as there is room for.
    ///
    /// # Safety
    ///
    /// Where the pointer is not null, as many bytes may be written there as its `size` says.
    unsafe fn write(mut self, to: *mut Self) -> Result<()> {
        // SAFETY: the caller vouches for it.
        let size = *unsafe { input::at(to.cast_const().cast::<usize>(), Self::NAME) }?;
        check_size::<Self>(size)?;
        let known = size.min(size_of::<Self>());
        // SAFETY: its first field is the size, which stays what it was.
        unsafe { (&raw mut self).cast::<usize>().write(size) };
        // SAFETY: the caller vouches for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping((&raw const self).cast::<u8>(), to.cast(), known) };
        Ok(())
    }
}

/// Structures do not become as large as this.
const MOST_BYTES: usize = 4096;

fn check_size<T: Sized>(size: usize) -> Result<()> {
    if !(size_of::<usize>()..=MOST_BYTES).contains(&size) {
        return Err(Failure::input(format!(
            "size of {} cannot be {size}; start from {}_INIT",
            T::NAME,
            T::NAME.to_uppercase()
        )));
    }
    Ok(())
}

/// Implements [`Sized`].
macro_rules! sized {
    ($type:ident { $($field:ident: $value:expr),* $(,)? }) => {
        // SAFETY: each of them is `repr(C)`, begins with its size, and holds numbers and pointers.
        unsafe impl $crate::options::Sized for $type {
            const NAME: &'static str = stringify!($type);

            fn initial() -> Self {
                // SAFETY: numbers of 0, and pointers that are null.
                let zero = unsafe { std::mem::zeroed::<Self>() };
                #[allow(clippy::needless_update, reason = "some give all fields")]
                Self { size: size_of::<Self>(), $($field: $value,)* ..zero }
            }
        }
    };
}
pub(crate) use sized;

sized!(fps_open_options { memory_bytes: -1 });
sized!(fps_pack_options { bits: 64, radius: 3 });
sized!(fps_create_options { bits: 64, radius: 3, id_kind: id::FPS_ID_NUMBER });
sized!(fps_writer_options { sync_interval_ms: 50 });
sized!(fps_batch_options { limit: u64::MAX });

pub(crate) fn durability(number: u32) -> Result<Durability> {
    match number {
        FPS_DURABILITY_GROUP => Ok(Durability::Group),
        FPS_DURABILITY_IMMEDIATE => Ok(Durability::Immediate),
        FPS_DURABILITY_EVENTUAL => Ok(Durability::Eventual),
        other => Err(Failure::input(format!(
            "durability cannot be {other}: there are FPS_DURABILITY_GROUP, _IMMEDIATE and _EVENTUAL, 0 to 2"
        ))),
    }
}

/// A design by its text, if there is one.
///
/// # Safety
///
/// As [`input::text`].
unsafe fn design(text: *const c_char, bits: u32) -> Result<Option<Design>> {
    // SAFETY: the caller vouches for it.
    let text = unsafe { input::text(text, "design") }?;
    Ok(text.map(|text| Design::read(bits, text)).transpose()?)
}

impl fps_open_options {
    pub(crate) fn options(&self) -> OpenOptions {
        let options = OpenOptions::new().in_memory(self.in_memory != 0);
        match u64::try_from(self.memory_bytes) {
            Ok(bytes) => options.memory(bytes),
            Err(_) => options,
        }
    }
}

impl fps_pack_options {
    /// # Safety
    ///
    /// Its pointers are null, or texts that end with a zero.
    pub(crate) unsafe fn packer(&self) -> Result<Packer> {
        let mut execution = Execution::new().threads(self.threads as usize);
        if self.memory_bytes > 0 {
            execution = execution.memory(self.memory_bytes);
        }
        if !self.scratch_directory.is_null() {
            // SAFETY: the caller vouches for it.
            let scratch = unsafe { input::path(self.scratch_directory, "scratch_directory") }?;
            execution = execution.scratch_directory(scratch);
        }
        let mut layout = Layout::new().k(self.radius).short_tables(self.short_tables != 0);
        // SAFETY: the caller vouches for it.
        if let Some(design) = unsafe { design(self.design, self.bits) }? {
            layout = layout.design(design);
        }
        if self.parts > 0 {
            layout = layout.parts(self.parts);
        }
        if self.block_bytes > 0 {
            layout = layout.block_bytes(self.block_bytes);
        }
        let mut packer = Packer::new()
            .layout(layout)
            .replace(self.replace != 0)
            .append(self.append != 0)
            .execution(execution);
        if let Some(kind) = id::kind_of(self.id_kind, self.id_bytes)? {
            packer = packer.ids(kind);
        }
        // SAFETY: the caller vouches for it.
        if let Some(recipe) = unsafe { input::text(self.recipe, "recipe") }? {
            packer = packer.recipe(recipe);
        }
        Ok(packer)
    }
}

impl fps_create_options {
    /// # Safety
    ///
    /// Its pointers are null, or texts that end with a zero.
    pub(crate) unsafe fn options(&self) -> Result<StoreOptions> {
        let mut layout = Layout::new().k(self.radius).short_tables(self.short_tables != 0);
        // SAFETY: the caller vouches for it.
        if let Some(design) = unsafe { design(self.design, self.bits) }? {
            layout = layout.design(design);
        }
        if self.parts > 0 {
            layout = layout.parts(self.parts);
        }
        let kind = id::kind_of(self.id_kind, self.id_bytes)?;
        let mut options = StoreOptions::new().layout(layout).ids(kind);
        // SAFETY: the caller vouches for it.
        if let Some(recipe) = unsafe { input::text(self.recipe, "recipe") }? {
            options = options.recipe(recipe);
        }
        Ok(options)
    }
}

impl fps_writer_options {
    pub(crate) fn options(&self) -> Result<WriterOptions> {
        let mut options = WriterOptions::new()
            .durability(durability(self.durability)?)
            .sync_interval(Duration::from_millis(self.sync_interval_ms.into()))
            .background(self.no_background == 0);
        if self.tail_records > 0 {
            options = options.tail_records(self.tail_records as usize);
        }
        Ok(options)
    }
}

impl fps_batch_options {
    pub(crate) fn execution(&self) -> Execution {
        let mut execution = Execution::new().threads(self.threads as usize);
        if self.memory_bytes > 0 {
            execution = execution.memory(self.memory_bytes);
        }
        if self.timeout_ms > 0 {
            execution = execution.timeout(Duration::from_millis(self.timeout_ms.into()));
        }
        execution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C, align(8))]
    struct Bytes([u8; 4200]);

    fn given(size: usize, options: fps_open_options) -> Bytes {
        let mut bytes = Bytes([0; 4200]);
        // SAFETY: there is room.
        unsafe { (&raw mut bytes.0).cast::<fps_open_options>().write(options) };
        bytes.0[..8].copy_from_slice(&size.to_ne_bytes());
        bytes
    }

    fn read(bytes: &Bytes) -> Option<fps_open_options> {
        // SAFETY: 4200 bytes stand there.
        unsafe { fps_open_options::read((&raw const bytes.0).cast()) }.ok()
    }

    #[test]
    fn shorter_structures_get_defaults_and_longer_ones_must_hold_nothing_more() {
        let options = fps_open_options { size: 0, memory_bytes: 7, in_memory: 1 };
        let whole = size_of::<fps_open_options>();
        let fields = |bytes: &Bytes| read(bytes).map(|own| (own.memory_bytes, own.in_memory));
        assert_eq!(fields(&given(whole, options)), Some((7, 1)));
        assert_eq!(fields(&given(8, options)), Some((-1, 0)));
        assert_eq!(fields(&given(16, options)), Some((7, 0)));
        assert_eq!(fields(&given(4096, options)), Some((7, 1)));
        for size in [0, 7, 4097, usize::MAX] {
            assert_eq!(fields(&given(size, options)), None, "{size}");
        }
        let mut newer = given(whole + 8, options);
        newer.0[whole + 7] = 1;
        assert_eq!(fields(&newer), None);
        newer.0[..8].copy_from_slice(&(whole + 7).to_ne_bytes());
        assert_eq!(fields(&newer), Some((7, 1)));
    }

    #[test]
    fn an_answer_is_as_long_as_its_caller_knows() {
        let mut bytes = given(16, fps_open_options { size: 0, memory_bytes: 7, in_memory: 5 });
        let own = fps_open_options { size: 0, memory_bytes: 9, in_memory: 1 };
        // SAFETY: 4200 bytes stand there.
        assert!(unsafe { own.write((&raw mut bytes.0).cast()) }.is_ok());
        assert_eq!(read(&bytes).map(|own| (own.size, own.memory_bytes)), Some((16, 9)));
        assert_eq!(bytes.0[16], 5);
    }
}

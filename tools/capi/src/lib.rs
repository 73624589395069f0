//! fpstore for C: what `include/fpstore.h` declares.
//!
//! Each function checks what it is given, calls the library, and gives a status ([`fps_status`]);
//! what went wrong is kept for the thread ([`fps_last_error`]). The header is made of these files
//! by cbindgen, with their documents, and a test compares the two.
//!
//! What C hands over is no Rust value until it was checked: enumerations come as integers, truth
//! values as bytes, and structures of options have their size in front. So the only undefined
//! behaviour that is left is what C cannot rule out: a pointer that leads to less than its caller
//! says, and a handle that was freed or is used by two threads where that is not allowed.

#![allow(non_camel_case_types, reason = "they are the names in C")]

mod batch;
mod error;
mod id;
mod input;
mod iterate;
mod matches;
mod options;
mod pack;
mod searcher;
mod snapshot;
mod stats;
mod store;
mod version;
mod width;
mod writer;

pub use batch::*;
pub use error::{fps_clear_error, fps_last_error, fps_status, fps_status_name};
pub use id::{
    FPS_ID_BYTES, FPS_ID_NONE, FPS_ID_NUMBER, FPS_ID_NUMBER128, FPS_ID_TEXT, FPS_ID_UUID, fps_id,
};
pub use iterate::*;
pub use matches::fps_match;
pub use options::*;
pub use pack::*;
pub use searcher::*;
pub use snapshot::*;
pub use stats::*;
pub use store::*;
pub use version::*;
pub use writer::*;

/// What the documents say of threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<fps_store>();
    shared::<fps_snapshot>();
    shared::<fps_answers>();
    shared::<fps_packer>();
    shared::<fps_writer>();
    sent::<fps_searcher>();
    sent::<fps_ids>();
    sent::<fps_cursor>();
};

//! Tests through the public interface, beside an oracle that was written from the grammar alone.

mod agree;
mod arbitrary;
mod golden;
mod lines;
mod oracle;
mod python;
mod sentences;
mod statistics;
mod texts;
mod unseen;

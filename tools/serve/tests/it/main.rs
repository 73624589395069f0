//! A running server is asked over HTTP, and compared with lists in memory.

mod arrow;
mod client;
mod hostile;
mod interface;
mod limits;
mod rights;
mod running;
mod searches;
mod writes;

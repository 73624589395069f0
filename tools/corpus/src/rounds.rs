//! Pieces of the inputs, read on a thread of their own and handed on in rounds.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::documents::{Documents, Input, Inputs, Piece, Wanted};
use crate::error::Error;
use crate::threads;

/// What the thread that reads hands on.
pub enum Message {
    Piece(Piece),
    /// A file has ended.
    End,
    Failed(Error),
}

/// Reads pieces, from a file and a piece of it on, and gives `take` so many of them together, or
/// fewer if they have so many bytes; with the bytes that were read of all files. Two rounds are in
/// memory at a time, and a piece; so many bytes are also what a page of Parquet may take.
pub fn each_round(
    inputs: &Inputs,
    wanted: &Wanted,
    most: (usize, u64),
    start: (u64, u64),
    mut take: impl FnMut(Vec<Message>, u64) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    thread::scope(|scope| {
        // No round waits in between: the next one is collected meanwhile.
        let (sender, receiver) = sync_channel(0);
        let to = Rounds { sender, most, messages: Vec::new(), bytes: 0, read: 0 };
        threads::spawn_scoped(scope, move || send_all(inputs, wanted, start, to))?;
        for (messages, read) in receiver {
            if take(messages, read)?.is_break() {
                break;
            }
        }
        Ok(())
    })
}

/// Collects messages; breaks once nobody listens any more.
struct Rounds {
    sender: SyncSender<(Vec<Message>, u64)>,
    /// Messages of a round, and bytes of their pieces. A piece that has more is a round by itself.
    most: (usize, u64),
    messages: Vec<Message>,
    bytes: u64,
    /// What was read of all files.
    read: u64,
}

impl Rounds {
    fn push(&mut self, message: Message) -> ControlFlow<()> {
        let bytes = match &message {
            Message::Piece(piece) => piece.bytes() as u64,
            _ => 0,
        };
        if self.bytes + bytes > self.most.1 {
            self.send()?;
        }
        self.bytes += bytes;
        self.messages.push(message);
        match self.messages.len() >= self.most.0 {
            true => self.send(),
            false => ControlFlow::Continue(()),
        }
    }

    fn send(&mut self) -> ControlFlow<()> {
        self.bytes = 0;
        let messages = std::mem::take(&mut self.messages);
        match messages.is_empty() || self.sender.send((messages, self.read)).is_ok() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

fn send_all(
    inputs: &Inputs,
    wanted: &Wanted,
    start: (u64, u64),
    mut to: Rounds,
) -> ControlFlow<()> {
    let (file, mut passed) = (start.0 as usize, start.1);
    let mut before: u64 = inputs.files.iter().take(file).map(|input| input.bytes).sum();
    for input in inputs.files.iter().skip(file) {
        match send_file(input, wanted, (std::mem::take(&mut passed), before), &mut to) {
            Ok(flow) => flow?,
            Err(failure) => {
                to.push(Message::Failed(failure))?;
                break;
            }
        }
        to.push(Message::End)?;
        before += input.bytes;
    }
    to.send()
}

fn send_file(
    input: &Arc<Input>,
    wanted: &Wanted,
    (passed, before): (u64, u64),
    to: &mut Rounds,
) -> Result<ControlFlow<()>, Error> {
    let mut documents = Documents::open(input, wanted, to.most.1)?;
    let mut number = 0;
    while let Some(piece) = documents.next_piece()? {
        number += 1;
        if number <= passed {
            continue;
        }
        to.read = before + documents.bytes_read();
        if to.push(Message::Piece(piece)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

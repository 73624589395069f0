//! The rows of `--unless-near`.

use std::io::Write;

use fpstore::{Fingerprint, IdRef, Verdict};

use super::{Args, Shape};
use crate::failure::Failure;
use crate::ids::{IdShape, push_id};
use crate::output::Output;
use crate::table::{self, Form};

/// Prints a row for each record, once it is committed.
pub(super) struct Verdicts<'a> {
    args: &'a Args,
    /// `None` once its reader is gone: the records are wanted all the same.
    output: Option<Output>,
    /// Rows of records that are not committed yet.
    text: Vec<u8>,
    inserted: u64,
}

impl<'a> Verdicts<'a> {
    /// Gets ready for records with ids or without.
    pub(super) fn new(args: &'a Args, with_ids: bool) -> Result<Self, Failure> {
        let mut output = Output::stdout();
        if args.form.table.header {
            let names = ["id", "fingerprint", "verdict", "near", "distance"];
            output.bytes(&table::header(&names[usize::from(!with_ids)..]))?;
        }
        Ok(Self { args, output: Some(output), text: Vec::new(), inserted: 0 })
    }

    /// Keeps the row of a record.
    pub(super) fn push<F: Fingerprint>(
        &mut self,
        fingerprint: F,
        id: Option<IdRef<'_>>,
        verdict: &Verdict<F>,
    ) -> Result<(), Failure> {
        let form = self.args.form.table.text();
        let nearest = match verdict {
            Verdict::Near(near) => near.first().map(|near| (near.fingerprint, near.distance)),
            Verdict::Inserted => None,
        };
        self.inserted += u64::from(*verdict == Verdict::Inserted);
        let to = &mut self.text;
        match self.args.form.shape {
            Shape::Tsv => push_tsv(to, form, (fingerprint, id), nearest),
            Shape::Json => push_json(to, form, (fingerprint, id), nearest),
        }
    }

    /// Prints the rows that were kept.
    pub(super) fn pass_on(&mut self) -> Result<(), Failure> {
        let Some(output) = &mut self.output else {
            self.text.clear();
            return Ok(());
        };
        match output.take(&mut self.text).and_then(|()| output.flush()) {
            Err(Failure::ClosedPipe) => {
                self.output = None;
                Ok(())
            }
            passed_on => passed_on,
        }
    }

    /// The number of records that were inserted, when all rows are printed.
    pub(super) fn finish(mut self) -> Result<u64, Failure> {
        self.pass_on()?;
        Ok(self.inserted)
    }
}

fn push_tsv<F: Fingerprint>(
    to: &mut Vec<u8>,
    form: Form,
    (fingerprint, id): (F, Option<IdRef<'_>>),
    nearest: Option<(F, u32)>,
) -> Result<(), Failure> {
    if let Some(id) = id {
        push_id(id, IdShape::Tsv, to)?;
        to.push(b'\t');
    }
    form.push(to, fingerprint);
    let Some((near, distance)) = nearest else {
        to.extend_from_slice(b"\tinserted\t\t\n");
        return Ok(());
    };
    to.extend_from_slice(b"\tnear\t");
    form.push(to, near);
    writeln!(to, "\t{distance}").map_err(Failure::Output)
}

fn push_json<F: Fingerprint>(
    to: &mut Vec<u8>,
    form: Form,
    (fingerprint, id): (F, Option<IdRef<'_>>),
    nearest: Option<(F, u32)>,
) -> Result<(), Failure> {
    to.push(b'{');
    if let Some(id) = id {
        to.extend_from_slice(b"\"id\":");
        push_id(id, IdShape::Json, to)?;
        to.push(b',');
    }
    to.extend_from_slice(b"\"fingerprint\":\"");
    form.push(to, fingerprint);
    let Some((near, distance)) = nearest else {
        to.extend_from_slice(b"\",\"verdict\":\"inserted\"}\n");
        return Ok(());
    };
    to.extend_from_slice(b"\",\"verdict\":\"near\",\"near\":\"");
    form.push(to, near);
    writeln!(to, "\",\"distance\":{distance}}}").map_err(Failure::Output)
}

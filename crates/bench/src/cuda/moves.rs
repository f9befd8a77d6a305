//! The time that a GPU needs to read memory and to copy it: the limits that cases are compared with.

use crate::side::Moved;
use warpfold::cuda::{Buffer, Error, Event, Stream};
use warpfold_ladder::{Inputs, Program, Work};

/// The device's clock around calls.
pub struct Clock<'a> {
    pub stream: &'a Stream,
    pub before: &'a Event,
    pub after: &'a Event,
    /// The number of calls.
    pub calls: u64,
}

impl Clock<'_> {
    /// The nanoseconds of one call, after an untimed one. `call` takes the index of the call.
    fn time(&self, mut call: impl FnMut(usize) -> Result<(), Error>) -> Result<u64, Error> {
        call(self.calls as usize)?;
        self.stream.record(self.before)?;
        (0..self.calls as usize).try_for_each(&mut call)?;
        self.stream.record(self.after)?;
        Ok(self.after.nanoseconds_since(self.before)? / self.calls)
    }

    /// Times copies of half of the inputs in turn, into memory that is kept.
    pub fn copies(&self, inputs: &[Buffer<u8>], half: &mut Option<Buffer<u8>>) -> Result<Moved, Error> {
        let bytes = inputs[0].len() / 2;
        let to = match half {
            Some(to) => to,
            None => half.insert(Buffer::new(&self.stream.device(), bytes)?),
        };
        let ns = self.time(|i| to.copy_from_bytes(self.stream, &inputs[i % inputs.len()]))?;
        Ok(Moved { ns, bytes: 2 * bytes as u64 })
    }
}

/// A kernel that only reads, and its inputs: as many as the case has, of the same bytes.
pub struct Read {
    program: Program,
    inputs: Vec<Inputs>,
    bytes: u64,
}

impl Read {
    /// A read of one input; `None` if the input is shorter than a word.
    pub fn of(stream: &Stream, input: &Buffer<u8>) -> Result<Option<Read>, Error> {
        let n = input.len() / 4;
        if n == 0 {
            return Ok(None);
        }
        let program = Program::new(&stream.device(), Work::Read { n: n as u64 })?;
        Ok(Some(Read { program, inputs: vec![Inputs::copy_of(stream, input, n)?], bytes: 4 * n as u64 }))
    }

    /// Adds one more copy of the input.
    pub fn duplicate(&mut self, stream: &Stream) -> Result<(), Error> {
        self.inputs.push(self.inputs[0].duplicate(stream)?);
        Ok(())
    }

    /// Times reads of the first `copies` inputs in turn.
    pub fn time(&mut self, clock: &Clock<'_>, copies: usize) -> Result<Moved, Error> {
        let Read { program, inputs, bytes } = self;
        let ns = clock.time(|i| program.run(clock.stream, &inputs[i % copies]))?;
        Ok(Moved { ns, bytes: *bytes })
    }
}

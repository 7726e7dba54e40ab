//! The protocol's zlib compression: a stream of packets, cut anywhere, inside compressed packets, which have 3 bytes of
//! length, 1 byte of sequence number, 3 bytes of length before compression (0: it is not compressed), and the data.

use crate::{
    error::{Error, malformed},
    packet::PAYLOAD_MAX,
};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// Bytes before the data.
const HEADER: usize = 7;
/// Less than this is not worth it; the limit of MySQL's own client.
const COMPRESSED_MIN: usize = 50;
/// Capacity that is kept between packets.
const KEPT: usize = 64 << 10;

thread_local! {
    // Each packet is compressed for itself, so the machinery (300 KB) need not be kept for each connection.
    static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(flate2::Compression::fast(), true));
    static DECOMPRESS: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Both directions of a compressed connection.
#[derive(Debug, Default)]
pub(crate) struct Compression {
    sequence: u8,
    /// A compressed packet that is not complete.
    packed: Vec<u8>,
    /// What came out of compressed packets and has not been read.
    plain: Vec<u8>,
}

impl Compression {
    /// Puts the packets from `start` on into compressed ones. `fresh`: they begin a command.
    pub(crate) fn wrap(&mut self, out: &mut Vec<u8>, start: usize, fresh: bool) {
        if fresh {
            self.sequence = 0;
        }
        let plain = out.split_off(start);
        for piece in plain.chunks(PAYLOAD_MAX) {
            let header = out.len();
            out.extend_from_slice(&[0; HEADER]);
            let mut stated = 0;
            if piece.len() >= COMPRESSED_MIN
                && COMPRESS.with_borrow_mut(|compress| deflate(compress, piece, out))
            {
                stated = piece.len();
            } else {
                out.truncate(header + HEADER);
                out.extend_from_slice(piece);
            }
            let length = out.len() - header - HEADER;
            out[header..header + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
            out[header + 3] = self.sequence;
            out[header + 4..header + HEADER].copy_from_slice(&(stated as u32).to_le_bytes()[..3]);
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    /// Takes what has arrived and lets `read` have what was in it, until that has an outcome.
    pub(crate) fn receive<T>(
        &mut self,
        input: &[u8],
        mut read: impl FnMut(&[u8]) -> Result<(usize, Option<T>), Error>,
    ) -> Result<(usize, Option<T>), Error> {
        let mut at = 0;
        loop {
            if !self.plain.is_empty() {
                let (read_bytes, outcome) = read(&self.plain)?;
                self.plain.drain(..read_bytes);
                if outcome.is_some() {
                    self.plain.shrink_to(KEPT);
                    return Ok((at, outcome));
                }
            }
            if !self.take_packet(input, &mut at)? {
                return Ok((at, None));
            }
            self.unpack()?;
        }
    }

    /// Moves bytes of one compressed packet over; whether it is complete.
    fn take_packet(&mut self, input: &[u8], at: &mut usize) -> Result<bool, Error> {
        self.fill(input, at, HEADER);
        let Some(&[a, b, c, sequence, ..]) = self.packed.first_chunk::<HEADER>() else { return Ok(false) };
        if sequence != self.sequence {
            return Err(Error::Sequence { expected: self.sequence, seen: sequence });
        }
        let length = HEADER + u32::from_le_bytes([a, b, c, 0]) as usize;
        self.fill(input, at, length);
        Ok(self.packed.len() == length)
    }

    fn fill(&mut self, input: &[u8], at: &mut usize, length: usize) {
        let taken = length.saturating_sub(self.packed.len()).min(input.len() - *at);
        self.packed.extend_from_slice(&input[*at..*at + taken]);
        *at += taken;
    }

    fn unpack(&mut self) -> Result<(), Error> {
        let [_, _, _, _, a, b, c] = *self.packed.first_chunk::<HEADER>().expect("the packet is complete");
        let stated = u32::from_le_bytes([a, b, c, 0]) as usize;
        self.sequence = self.sequence.wrapping_add(1);
        if stated == 0 {
            self.plain.extend_from_slice(&self.packed[HEADER..]);
        } else {
            let packed = &self.packed[HEADER..];
            DECOMPRESS.with_borrow_mut(|decompress| inflate(decompress, packed, stated, &mut self.plain))?;
        }
        self.packed.clear();
        self.packed.shrink_to(KEPT);
        Ok(())
    }
}

/// Appends `piece` compressed; false if that does not make it shorter.
fn deflate(compress: &mut Compress, piece: &[u8], out: &mut Vec<u8>) -> bool {
    compress.reset();
    out.reserve(piece.len());
    let ended = compress.compress_vec(piece, out, FlushCompress::Finish);
    matches!(ended, Ok(Status::StreamEnd)) && compress.total_out() < piece.len() as u64
}

/// Appends what `packed` holds, which must be as long as `stated`.
fn inflate(
    decompress: &mut Decompress,
    packed: &[u8],
    stated: usize,
    plain: &mut Vec<u8>,
) -> Result<(), Error> {
    const WHAT: &str = "a compressed packet";
    decompress.reset(true);
    let before = plain.len();
    loop {
        let (read, made) = (decompress.total_in() as usize, plain.len() - before);
        if made > stated {
            return Err(malformed("a compressed packet holds more than it says"));
        }
        // Room grows with what has come out, whatever was stated; one byte more shows an overflow.
        plain.reserve((stated - made + 1).min(KEPT));
        let state = decompress.decompress_vec(&packed[read..], plain, FlushDecompress::None);
        match state.map_err(|_| malformed(WHAT))? {
            Status::StreamEnd => break,
            Status::Ok | Status::BufError => {
                let progressed = decompress.total_in() as usize > read || plain.len() - before > made;
                if !progressed {
                    return Err(malformed(WHAT));
                }
            }
        }
    }
    if plain.len() - before == stated { Ok(()) } else { Err(malformed(WHAT)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `bytes` hold, given in pieces of `step`.
    fn unwrap(bytes: &[u8], step: usize) -> Result<Vec<u8>, Error> {
        let (mut compression, mut plain) = (Compression::default(), Vec::new());
        for piece in bytes.chunks(step) {
            let (used, _) = compression.receive::<()>(piece, |read| {
                plain.extend_from_slice(read);
                Ok((read.len(), None))
            })?;
            assert_eq!(used, piece.len());
        }
        Ok(plain)
    }

    #[test]
    fn what_was_wrapped_comes_out_again() {
        let small = b"\x01\0\0\0\x0e".to_vec();
        let alike = vec![b'x'; 100_000];
        let noise: Vec<u8> =
            (0..50_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        let huge: Vec<u8> = (0..PAYLOAD_MAX + 1000).map(|n| (n >> 10) as u8).collect();
        for plain in [small, alike, noise, huge] {
            let mut out = b"before".to_vec();
            out.extend_from_slice(&plain);
            Compression::default().wrap(&mut out, 6, true);
            assert_eq!(&out[..6], b"before");
            for step in [1000, usize::MAX] {
                assert!(unwrap(&out[6..], step).expect("our own") == plain);
            }
        }
    }

    #[test]
    fn a_packet_that_holds_more_or_less_than_it_says_is_refused() {
        for stated in [99, 101] {
            let mut out = vec![b'x'; 100];
            Compression::default().wrap(&mut out, 0, true);
            out[4] = stated;
            assert!(matches!(unwrap(&out, usize::MAX), Err(Error::Malformed { .. })), "{stated}");
        }
    }
}

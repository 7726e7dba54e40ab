//! The protocol's zlib compression: a stream of packets, cut anywhere, inside compressed packets. Each of
//! those has 3 bytes of length, 1 byte of sequence number, 3 bytes of length before compression (0: not
//! compressed), and the data.

use crate::{
    error::{Error, malformed},
    packet::PAYLOAD_MAX,
};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

const WHAT: &str = "a compressed packet";
/// Bytes before the data.
const HEADER: usize = 7;
/// Less than this is not worth it; the limit of MySQL's own client.
const COMPRESSED_MIN: usize = 50;
/// A packet that is longer, before or after compression, is unpacked as it comes. Also the capacity that is
/// kept between packets.
const WHOLE_MAX: usize = 64 << 10;

thread_local! {
    // Each packet is compressed for itself, so the machinery (300 KB) need not be kept for each connection.
    static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(flate2::Compression::fast(), true));
    static DECOMPRESS: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Both directions of a compressed connection. What it holds of a packet is bounded by [`WHOLE_MAX`], however
/// long that is.
#[derive(Debug, Default)]
pub(crate) struct Compression {
    sequence: u8,
    /// A compressed packet that is not complete; of a long one only its header.
    packed: Vec<u8>,
    /// What came out of compressed packets and has not been read.
    plain: Vec<u8>,
    /// A long packet of which not everything has come.
    long: Option<Long>,
}

/// A long packet that is unpacked as it comes.
#[derive(Debug)]
struct Long {
    /// Bytes of it that have not come.
    packed_left: usize,
    /// Bytes that it still must yield.
    plain_left: usize,
    /// `None`: it is not compressed.
    decompress: Option<Box<Decompress>>,
    /// Whether the data in it has come to its end.
    ended: bool,
    /// It is damaged.
    failed: bool,
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
                    self.plain.shrink_to(WHOLE_MAX);
                    return Ok((at, outcome));
                }
            }
            if !self.take(input, &mut at)? {
                return Ok((at, None));
            }
        }
    }

    /// Bytes that were taken and have not been read.
    pub(crate) fn unread(&self) -> usize {
        self.plain.len() + self.packed.len()
    }

    /// Unpacks what has come, up to about [`WHOLE_MAX`] bytes; false: more must come first.
    fn take(&mut self, input: &[u8], at: &mut usize) -> Result<bool, Error> {
        if let Some(long) = &mut self.long {
            let (taken, goes_on) = long.unpack(&input[*at..], &mut self.plain)?;
            *at += taken;
            if long.is_done() {
                self.long = None;
            }
            return Ok(goes_on);
        }
        if !self.take_packet(input, at)? {
            return Ok(false);
        }
        if self.long.is_none() {
            self.unpack()?;
        }
        Ok(true)
    }

    /// Begins the next packet: moves a short one over, and looks at the header of a long one. Whether there
    /// is more to do.
    fn take_packet(&mut self, input: &[u8], at: &mut usize) -> Result<bool, Error> {
        self.fill(input, at, HEADER);
        let Some(&[a, b, c, sequence, d, e, f]) = self.packed.first_chunk::<HEADER>() else {
            return Ok(false);
        };
        if sequence != self.sequence {
            return Err(Error::Sequence { expected: self.sequence, seen: sequence });
        }
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let stated = u32::from_le_bytes([d, e, f, 0]) as usize;
        if length.max(stated) > WHOLE_MAX {
            let decompress = (stated > 0).then(|| Box::new(Decompress::new(true)));
            let plain_left = if stated > 0 { stated } else { length };
            let (ended, failed) = (false, false);
            self.long = Some(Long { packed_left: length, plain_left, decompress, ended, failed });
            self.sequence = self.sequence.wrapping_add(1);
            self.packed.clear();
            return Ok(true);
        }
        self.fill(input, at, HEADER + length);
        Ok(self.packed.len() == HEADER + length)
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
        self.packed.shrink_to(WHOLE_MAX);
        Ok(())
    }
}

impl Long {
    /// Takes bytes of the packet and appends what comes out of them. Returns how many it took, and whether
    /// there may be more to do. What came out before a fault is read first, so that it does not matter
    /// how the packet was torn.
    fn unpack(&mut self, input: &[u8], plain: &mut Vec<u8>) -> Result<(usize, bool), Error> {
        if self.failed {
            return Err(malformed(WHAT));
        }
        let input = &input[..input.len().min(self.packed_left)];
        let before = plain.len();
        let taken = match &mut self.decompress {
            None => {
                let taken = input.len().min(WHOLE_MAX);
                plain.extend_from_slice(&input[..taken]);
                self.ended = taken == self.packed_left;
                taken
            }
            Some(_) if self.ended => input.len(),
            Some(decompress) => {
                let read = decompress.total_in();
                // one byte more shows an overflow
                plain.reserve((self.plain_left + 1).min(WHOLE_MAX));
                match decompress.decompress_vec(input, plain, FlushDecompress::None) {
                    Ok(state) => self.ended = state == Status::StreamEnd,
                    Err(_) => self.failed = true,
                }
                (decompress.total_in() - read) as usize
            }
        };
        let made = plain.len() - before;
        plain.truncate(before + made.min(self.plain_left));
        let is_too_much = made > self.plain_left;
        self.packed_left -= taken;
        self.plain_left = self.plain_left.saturating_sub(made);
        let is_too_little = self.ended && self.plain_left > 0;
        let is_cut_off = self.packed_left == 0 && !self.ended && made == 0;
        self.failed |= is_too_much || is_too_little || is_cut_off;
        Ok((taken, taken + made > 0 || self.failed))
    }

    /// Whether it has come and yielded all that it should.
    fn is_done(&self) -> bool {
        self.packed_left == 0 && self.plain_left == 0 && self.ended && !self.failed
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
    decompress.reset(true);
    let before = plain.len();
    loop {
        let (read, made) = (decompress.total_in() as usize, plain.len() - before);
        if made > stated {
            return Err(malformed("a compressed packet holds more than it says"));
        }
        // Room grows with what has come out, whatever was stated; one byte more shows an overflow.
        plain.reserve((stated - made + 1).min(WHOLE_MAX));
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
    fn a_long_packet_is_held_in_parts_only_whatever_it_says() {
        let plain: Vec<u8> = (0..12_000_000_u32).map(|n| ((n / 100) % 251) as u8).collect();
        let noise: Vec<u8> =
            (0..3_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        for whole in [plain, noise] {
            let mut out = whole.clone();
            Compression::default().wrap(&mut out, 0, true);
            let (mut compression, mut seen) = (Compression::default(), 0);
            for piece in out.chunks(10_000) {
                let (used, _) = compression
                    .receive::<()>(piece, |read| {
                        assert!(whole[seen..].starts_with(read));
                        seen += read.len();
                        Ok((read.len(), None))
                    })
                    .expect("our own");
                assert_eq!(used, piece.len());
                let held = compression.packed.capacity() + compression.plain.capacity();
                assert!(held <= 4 * WHOLE_MAX, "{held} bytes are held");
            }
            assert!(seen == whole.len() && compression.long.is_none());
        }
    }

    type Damage = dyn Fn(&mut Vec<u8>);

    #[test]
    fn a_long_packet_that_is_damaged_is_refused_after_what_was_sound() {
        let mut out = vec![b'x'; 300_000];
        Compression::default().wrap(&mut out, 0, true);
        assert_eq!(out[4..HEADER], 300_000_u32.to_le_bytes()[..3]);
        let damage: [&Damage; 4] = [
            &|bytes| bytes[4..7].copy_from_slice(&200_000_u32.to_le_bytes()[..3]),
            &|bytes| bytes[4..7].copy_from_slice(&400_000_u32.to_le_bytes()[..3]),
            &|bytes| *bytes.last_mut().expect("a check sum") ^= 1,
            &|bytes| {
                let shorter = (bytes.len() - HEADER - 20) as u32;
                bytes[..3].copy_from_slice(&shorter.to_le_bytes()[..3]);
                bytes.truncate(HEADER + shorter as usize);
            },
        ];
        for damage in damage {
            let mut bytes = out.clone();
            damage(&mut bytes);
            for step in [1, 100, usize::MAX] {
                assert!(matches!(unwrap(&bytes, step), Err(Error::Malformed { .. })), "{step}");
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

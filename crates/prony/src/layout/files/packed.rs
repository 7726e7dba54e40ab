//! Files as they were written, whatever compresses them: gzip and zstd are known by their first bytes.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

/// First bytes of a file that gzip made.
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// First bytes of a frame of zstd.
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// The same of a frame that holds no data: `0x184D2A5?`, the lowest byte first.
const SKIPPED: [u8; 3] = [0x2A, 0x4D, 0x18];
/// What is read at once.
const BUFFER: usize = 256 << 10;

/// What a file holds.
///
/// # Errors
/// It cannot be read.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
    let begin = file.fill_buf()?;
    Ok(if begin.starts_with(&GZIP) {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file)))
    } else if begin.starts_with(&ZSTD) || begin.get(1..4) == Some(&SKIPPED[..]) {
        Box::new(BufReader::with_capacity(BUFFER, Unpacked::new(file)))
    } else {
        Box::new(file)
    })
}

/// What a sequence of frames holds (RFC 8878): writers that compress in parallel make one frame after the
/// other.
struct Unpacked<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Unpacked<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), is_in_frame: false }
    }

    /// Begins the next frame; false: there is none.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error.to_string())),
            }
        }
        Ok(false)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        let (noted, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        match noted {
            Some(_) if noted != found => Err(damaged("its checksum is wrong")),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame {
                self.is_in_frame = self.next_frame()?;
                if !self.is_in_frame {
                    return Ok(0);
                }
            }
            if self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
                let wanted = BlockDecodingStrategy::UptoBytes(buffer.len());
                let decoded = self.decoder.decode_blocks(&mut self.source, wanted);
                decoded.map_err(|error| damaged(&error.to_string()))?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                self.is_in_frame = false;
            }
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("zstd cannot decompress it: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("packed");
        std::fs::write(&path, bytes).unwrap();
        let mut out = Vec::new();
        open(&path)?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn frames_follow_each_other_and_a_damaged_one_is_told() {
        let text: Vec<u8> = (0..300_000u32).flat_map(|number| (number % 977).to_le_bytes()).collect();
        let frame = compress_to_vec(&text[..], CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let whole = [&skipped[..], &frame, &skipped, &frame].concat();
        assert!(read(&whole).unwrap() == [&text[..], &text].concat());
        assert!(read(&frame[..frame.len() / 2]).unwrap_err().to_string().contains("zstd"));
        let mut wrong = frame.clone();
        wrong.truncate(frame.len() - 4);
        wrong.extend([0; 4]);
        let told = read(&wrong).map(|text| text.len());
        assert!(told.is_err() || frame[4] & 4 == 0, "a checksum, where there is one: {told:?}");
        assert_eq!(read(b"plain").unwrap(), b"plain");
    }
}

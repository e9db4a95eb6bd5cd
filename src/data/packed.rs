//! Files packed by gzip or zstd.

use super::{io_message, read, unpack};
use crate::{Error, ErrorKind, Result};
use ruzstd::decoding::StreamingDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The packing of a file by its name, which is given without the ending that says it, in small
    /// letters.
    pub(super) fn of(path: &Path) -> (String, Packing) {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        let endings = [
            (".gz", Packing::Gzip),
            (".zst", Packing::Zstd),
            (".zstd", Packing::Zstd),
        ];
        let found = endings
            .iter()
            .find_map(|(ending, packing)| Some((name.strip_suffix(ending)?, *packing)));
        match found {
            Some((rest, packing)) => (rest.to_string(), packing),
            None => (name, Packing::Plain),
        }
    }
}

/// The error of data that cannot be unpacked.
pub(super) fn broken(packing: Packing, error: &io::Error) -> Error {
    let name = match packing {
        // The refusal of too much says all.
        _ if error.kind() == io::ErrorKind::FileTooLarge => return Error::data(error.to_string()),
        Packing::Plain => return Error::new(ErrorKind::Io, io_message(error)),
        Packing::Gzip => "gzip",
        Packing::Zstd => "zstd",
    };
    Error::data(format!(
        "the {name} data are damaged or cut short ({error}); fetch the file again"
    ))
}

/// The whole content of a file, within the limit of [`unpack()`].
pub(super) fn unpacked(path: &Path, packing: Packing) -> Result<Vec<u8>> {
    let bytes = read::whole(path)?;
    let content = match packing {
        Packing::Plain => return Ok(bytes),
        Packing::Gzip => unpack(flate2::read::MultiGzDecoder::new(&bytes[..]), bytes.len()),
        Packing::Zstd => Frames::new(&bytes[..]).and_then(|frames| unpack(frames, bytes.len())),
    };
    content.map_err(|error| broken(packing, &error))
}

/// The content of a file, to be read piece by piece.
pub(super) fn open(path: &Path, packing: Packing) -> Result<Box<dyn BufRead>> {
    const PIECE: usize = 1 << 16;
    let fail = |e: io::Error| Error::new(ErrorKind::Io, io_message(&e));
    let file = File::open(path).map_err(fail)?;
    let file = BufReader::with_capacity(PIECE, file);
    Ok(match packing {
        Packing::Plain => Box::new(file),
        Packing::Gzip => {
            let content = flate2::bufread::MultiGzDecoder::new(file);
            Box::new(BufReader::with_capacity(PIECE, content))
        }
        Packing::Zstd => {
            let content = Frames::new(file).map_err(|e| broken(packing, &e))?;
            Box::new(BufReader::with_capacity(PIECE, content))
        }
    })
}

/// All frames of a zstd file, one after the other.
struct Frames<R: BufRead>(Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>);

impl<R: BufRead> Frames<R> {
    fn new(packed: R) -> io::Result<Self> {
        let decoder = StreamingDecoder::new(packed);
        Ok(Frames(Some(decoder.map_err(|e| {
            io::Error::new(io::ErrorKind::InvalidData, e.to_string())
        })?)))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(mut decoder) = self.0.take() {
            let n = decoder.read(into)?;
            if n > 0 || into.is_empty() {
                self.0 = Some(decoder);
                return Ok(n);
            }
            let mut rest = decoder.into_inner();
            if !rest.fill_buf()?.is_empty() {
                *self = Frames::new(rest)?;
            }
        }
        Ok(0)
    }
}

//! The files that a figure can be.

use super::{Scene, Theme, pdf, png, svg};
use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;

/// Pixels of a PNG to one of the scene: 150 dots an inch.
const PNG_SCALE: f64 = 1.5;

/// A format of figures, which the ending of a file's name chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Dots.
    Png,
    /// Shapes for the web.
    Svg,
    /// Shapes for paper.
    Pdf,
}

impl Format {
    /// The format of a file called `path`.
    ///
    /// # Errors
    /// Its name has another ending; the caller says which file it is.
    pub fn of(path: &Path) -> Result<Format> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("png") => Ok(Format::Png),
            Some("svg") => Ok(Format::Svg),
            Some("pdf") => Ok(Format::Pdf),
            _ => {
                let message = "figures are written as .png, .svg or .pdf";
                Err(Error::new(ErrorKind::Usage, message))
            }
        }
    }

    /// A figure as a file of this format.
    ///
    /// # Errors
    /// An image of more than a hundred million pixels.
    pub fn bytes(self, scene: &Scene, theme: Theme) -> Result<Vec<u8>> {
        Ok(match self {
            Format::Png => png(scene, theme, PNG_SCALE)?,
            Format::Svg => svg(scene, theme).into_bytes(),
            Format::Pdf => pdf(scene, theme),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_choose_the_format() {
        assert_eq!(Format::of(Path::new("a/b.PNG")).unwrap(), Format::Png);
        for name in ["a", "a.jpg", ".png"] {
            let message = Format::of(Path::new(name)).unwrap_err().to_string();
            assert!(message.contains(".svg"), "{message}");
        }
    }
}

//! A PDF of pictures: one page for each.

use crate::error::{Error, Result};
use std::fmt::Write as _;
use std::io::Write as _;

/// The width of A4 in landscape, in points.
const PAGE_WIDTH: f64 = 842.0;

/// The pictures (PNG) as pages with the width of A4 in landscape.
pub(super) fn of_pictures(pictures: &[Vec<u8>], title: &str) -> Result<Vec<u8>> {
    let pixels = pictures.iter().map(|png| pixels(png)).collect::<Result<Vec<_>>>()?;
    let mut file = File::default();
    let kids: Vec<String> = (0..pixels.len()).map(|place| format!("{} 0 R", 4 + 3 * place)).collect();
    file.object(b"<< /Type /Catalog\n/Pages 2 0 R >>");
    file.object(format!("<< /Type /Pages\n/Count {}\n/Kids [{}] >>", kids.len(), kids.join(" ")).as_bytes());
    file.object(format!("<< /Title <{}>\n/Producer (Steward) >>", utf16(title)).as_bytes());
    for (place, picture) in pixels.iter().enumerate() {
        let (content, image) = (5 + 3 * place, 6 + 3 * place);
        let height = PAGE_WIDTH * f64::from(picture.height) / f64::from(picture.width);
        let page = format!(
            "<< /Type /Page\n/Parent 2 0 R\n/MediaBox [0 0 {PAGE_WIDTH:.2} {height:.2}]\n/Contents {content} 0 R\n\
             /Resources << /XObject << /Picture {image} 0 R >> >> >>"
        );
        file.object(page.as_bytes());
        file.stream("", format!("{PAGE_WIDTH:.2} 0 0 {height:.2} 0 0 cm /Picture Do").as_bytes());
        let (wide, tall) = (picture.width, picture.height);
        let about = format!(
            "/Type /XObject\n/Subtype /Image\n/Width {wide}\n/Height {tall}\n/ColorSpace /DeviceRGB\n\
             /BitsPerComponent 8\n/Filter /FlateDecode\n"
        );
        file.stream(&about, &packed(&picture.rgb)?);
    }
    Ok(file.finish())
}

struct Pixels {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

fn pixels(png: &[u8]) -> Result<Pixels> {
    let failed = |error: png::DecodingError| Error::Export { detail: error.to_string() };
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().map_err(failed)?;
    let mut bytes = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut bytes).map_err(failed)?;
    let channels = info.color_type.samples();
    if info.bit_depth != png::BitDepth::Eight || channels < 3 {
        return Err(Error::Export { detail: "the picture has no colours of eight bits".to_owned() });
    }
    // The pages have a white ground, so nothing shines through.
    let rgb = bytes.chunks_exact(channels).flat_map(|pixel| pixel.iter().take(3).copied()).collect();
    Ok(Pixels { width: info.width.max(1), height: info.height.max(1), rgb })
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::Export { detail: error.to_string() };
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).map_err(failed)?;
    encoder.finish().map_err(failed)
}

/// A text as hexadecimal UTF-16 with its mark, which needs no escapes.
fn utf16(text: &str) -> String {
    let mut out = String::from("FEFF");
    text.encode_utf16().for_each(|unit| {
        let _ = write!(out, "{unit:04X}");
    });
    out
}

/// The objects of a file in order, from 1.
struct File {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Default for File {
    fn default() -> Self {
        // The second line says that the file holds bytes that are no text.
        Self { bytes: b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n".to_vec(), places: Vec::new() }
    }
}

impl File {
    fn object(&mut self, content: &[u8]) {
        self.places.push(self.bytes.len());
        self.bytes.extend_from_slice(format!("{} 0 obj\n", self.places.len()).as_bytes());
        self.bytes.extend_from_slice(content);
        self.bytes.extend_from_slice(b"\nendobj\n");
    }

    fn stream(&mut self, about: &str, content: &[u8]) {
        let mut object = format!("<< {about}/Length {} >>\nstream\n", content.len()).into_bytes();
        object.extend_from_slice(content);
        object.extend_from_slice(b"\nendstream");
        self.object(&object);
    }

    fn finish(mut self) -> Vec<u8> {
        let start = self.bytes.len();
        let count = self.places.len() + 1;
        let mut table = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for place in &self.places {
            let _ = writeln!(table, "{place:010} 00000 n ");
        }
        let _ = write!(
            table,
            "trailer\n<< /Size {count} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{start}\n%%EOF\n"
        );
        self.bytes.extend_from_slice(table.as_bytes());
        self.bytes
    }
}

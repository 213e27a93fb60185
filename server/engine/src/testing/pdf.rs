//! Documents of empty pages.

use crate::media::Pdf;

/// A whole PDF file of small, empty pages.
pub fn pdf_bytes(pages: usize) -> Vec<u8> {
    let kids: String = (0..pages).map(|page| format!("{} 0 R ", page + 3)).collect();
    let mut text = format!(
        "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[{kids}]/Count {pages}>>\nendobj\n"
    );
    for page in 0..pages {
        text.push_str(&format!("{} 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>\nendobj\n", page + 3));
    }
    let table = text.len();
    text.push_str("xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1/Root 1 0 R>>\n");
    text.push_str(&format!("startxref\n{table}\n%%EOF\n"));
    text.into_bytes()
}

pub fn pdf(pages: usize) -> Pdf {
    match Pdf::new(pdf_bytes(pages)) {
        Ok(pdf) => pdf,
        Err(error) => panic!("no document of {pages} pages: {error}"),
    }
}

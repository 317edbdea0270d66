//! The page around the sections. Nothing from a trace is in it but base64 and the escaped title.

use stepscope_ground::markup::escaped;
use stepscope_ground::{Problem, base64};

use super::pack::Section;
use crate::assets::{asset, unpack};

/// Nothing is loaded from anywhere, and nothing can be sent.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Script and style of the page.
pub(super) struct Bundle {
    script: String,
    style: String,
}
pub(super) fn bundle() -> Result<Bundle, Problem> {
    let text = |name: &str| {
        let found = asset(name, None).filter(|_| crate::has_ui())?;
        String::from_utf8(if found.gzipped { unpack(&found.body) } else { found.body }).ok()
    };
    let missing = || Problem::new("this build has no browser UI", "run `make ui`, then build again");
    let script = text("stepscope.js").ok_or_else(missing)?;
    // The only way out of a script element.
    let script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--");
    Ok(Bundle { script, style: text("stepscope.css").ok_or_else(missing)? })
}

impl Bundle {
    /// The bytes that sections may have in a page of at most so many.
    pub(super) fn room(&self, max_bytes: usize) -> usize {
        let page = self.script.len() + self.style.len() + 4096;
        // Four letters of base64 hold three bytes.
        max_bytes.saturating_sub(page) / 4 * 3
    }
    pub(super) fn with(&self, title: &str, sections: &[Section]) -> Vec<u8> {
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{} · Stepscope</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n<body>\n\
             <div id=\"app\"></div>\n",
            escaped(title),
            self.style
        )
        .into_bytes();
        for section in sections {
            out.extend_from_slice(
                format!("<script type=\"text/plain\" id=\"pack:{}\">", section.name).as_bytes(),
            );
            base64::encode(&section.bytes, &mut out);
            out.extend_from_slice(b"</script>\n");
        }
        out.extend_from_slice(b"<script type=\"module\">");
        out.extend_from_slice(self.script.as_bytes());
        out.extend_from_slice(b"</script>\n</body>\n</html>\n");
        out
    }
}

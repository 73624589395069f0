//! What a store remembers of how it is to be laid out: the text of a LAYOUT section (chapter 12 of
//! the specification).

use super::{Layout, Prefer};
use crate::design::Design;
use crate::format::{self, GROUP_BITS, low_widths};

impl Layout {
    /// What is said, but for the radius, as the text of a LAYOUT section; `None` if nothing is.
    pub(crate) fn advice(&self) -> Option<String> {
        let Self { radius: _, prefer, design, block_bytes, codec, low_bits, short_tables, parts } =
            self;
        let mut words = Vec::new();
        if *prefer != Prefer::default() {
            words.push(format!("prefer={prefer}"));
        }
        words.extend(design.as_ref().map(|design| format!("design={design}")));
        words.extend(block_bytes.map(|block_bytes| format!("block-bytes={block_bytes}")));
        words.extend(codec.map(|codec| format!("codec={codec}")));
        words.extend(low_bits.map(|low_bits| format!("low-bits={low_bits}")));
        if *short_tables {
            words.push("tables=short".to_string());
        }
        words.extend(parts.map(|parts| format!("parts={parts}")));
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What a LAYOUT section says of a store for fingerprints of so many bits. It is advice, and
    /// comes from outside: what nobody knows, and what cannot be, is passed over.
    pub(crate) fn of_advice(bits: u32, radius: u32, text: &str) -> Self {
        let value = |wanted: &str| {
            let words = text.split(' ').filter_map(|word| word.split_once('='));
            words.filter(|(key, _)| *key == wanted).map(|(_, value)| value).next()
        };
        let number = |wanted: &str| value(wanted).and_then(|value| value.parse().ok());
        let parts = value("parts").and_then(|value| value.parse().ok());
        Self {
            radius,
            prefer: value("prefer").and_then(|value| value.parse().ok()).unwrap_or_default(),
            design: value("design").and_then(|value| Design::read(bits, value).ok()),
            block_bytes: number("block-bytes").filter(|&bytes| format::is_block_bytes(bytes)),
            codec: value("codec").and_then(|value| value.parse().ok()),
            low_bits: number("low-bits").filter(|&width| low_widths(bits).any(|at| at == width)),
            short_tables: value("tables") == Some("short"),
            parts: parts.filter(|&parts: &u16| u32::from(parts) <= bits / GROUP_BITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Codec;

    #[test]
    fn what_of_a_layout_can_be_is_used() {
        let text = "design=thirds block-bytes=0 low-bits=16 codec=zip prefer=most";
        let layout = Layout::of_advice(64, 3, text);
        let design = layout.design.as_ref().and_then(Design::name);
        assert_eq!((design, layout.codec, layout.low_bits), (Some("thirds"), None, Some(16)));
        assert_eq!((layout.block_bytes, layout.prefer), (None, Prefer::Balanced));
        assert_eq!(layout.advice().unwrap(), "design=thirds low-bits=16");
        // There are no 7 low bits.
        let layout = Layout::of_advice(64, 3, "design=0 block-bytes=1024 low-bits=7 codec=gap");
        assert_eq!(layout.advice().unwrap(), "block-bytes=1024 codec=gap");
        assert_eq!(layout.codec, Some(Codec::Gap));
    }

    #[test]
    fn what_is_said_comes_back() {
        let said = [
            (64, "design=24,20,20 block-bytes=256"),
            (64, "design=0..16,0..16+40..48"),
            (64, "prefer=size"),
            (64, "prefer=speed design=32,24 tables=short"),
            (64, "codec=xor low-bits=32"),
            (256, "parts=9"),
            (128, "parts=0"),
        ];
        for (bits, text) in said {
            assert_eq!(Layout::of_advice(bits, 3, text).advice().as_deref(), Some(text));
        }
        for text in ["", "prefer=balanced", "parts=", "parts=65536", "parts=9"] {
            assert_eq!(Layout::of_advice(32, 3, text).advice(), None, "{text}");
        }
    }
}

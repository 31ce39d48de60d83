//! Splits a byte stream into messages: server-sent events, or one JSON value per line.
//!
//! Bytes are split at line ends before decoding, so that a character split between two packets
//! stays intact. Lines and messages have a maximum size; invalid UTF-8 is an error and not
//! replaced.

/// Maximum length of a line, and of a multi-line message.
const LONGEST: usize = 4 * 1024 * 1024;

/// How messages are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// One value per line.
    Lines,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Frame {
    /// The name of the event, if it has one.
    pub(super) event: String,
    /// Its data.
    pub(super) data: String,
}

/// An error in the byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misframed {
    /// A line or a message is too long.
    TooLong(usize),
    /// Not UTF-8.
    NoText,
}

/// Accepts bytes as they arrive and returns complete messages.
#[derive(Debug)]
pub(super) struct Framer {
    framing: Framing,
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    frame: Frame,
    has_data: bool,
}

impl Framer {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            after_cr: false,
            begun: false,
            frame: Frame::default(),
            has_data: false,
        }
    }

    /// Adds bytes; returns the messages that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Misframed> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        // A line ends with CR LF, LF or CR; the LF of a pair may be the first byte of the next
        // packet.
        while let Some(place) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (before, from) = rest.split_at(place);
            let (end, after) = from.split_first().unwrap_or((&b'\n', &[]));
            let second_half = *end == b'\n' && before.is_empty() && self.after_cr;
            self.after_cr = *end == b'\r';
            if !second_half {
                self.keep(before)?;
                frames.extend(self.end_of_line()?);
            }
            rest = after;
        }
        if !rest.is_empty() {
            self.after_cr = false;
            self.keep(rest)?;
        }
        Ok(frames)
    }

    /// The remaining message when the stream ended without a delimiter.
    pub(super) fn rest(&mut self) -> Result<Option<Frame>, Misframed> {
        let line = if self.line.is_empty() { None } else { self.end_of_line()? };
        Ok(line.or_else(|| self.take()))
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Misframed> {
        if self.line.len() + bytes.len() > LONGEST {
            return Err(Misframed::TooLong(LONGEST));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<Option<Frame>, Misframed> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| Misframed::NoText)?;
        let line = if self.begun { line.as_str() } else { line.strip_prefix('\u{feff}').unwrap_or(&line) };
        self.begun = true;
        match self.framing {
            Framing::Lines if line.trim().is_empty() => Ok(None),
            Framing::Lines => Ok(Some(Frame { event: String::new(), data: line.to_owned() })),
            Framing::Events => self.field(line),
        }
    }

    fn field(&mut self, line: &str) -> Result<Option<Frame>, Misframed> {
        if line.is_empty() {
            return Ok(self.take());
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.frame.event),
            "data" => {
                if self.frame.data.len() + value.len() > LONGEST {
                    return Err(Misframed::TooLong(LONGEST));
                }
                if self.has_data {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
                self.has_data = true;
            }
            // Comments, ids and retry delays are ignored.
            _ => {}
        }
        Ok(None)
    }

    fn take(&mut self) -> Option<Frame> {
        let frame = std::mem::take(&mut self.frame);
        std::mem::take(&mut self.has_data).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(framing: Framing, bytes: &[u8], step: usize) -> Vec<(String, String)> {
        let mut framer = Framer::new(framing);
        let mut all = Vec::new();
        for part in bytes.chunks(step) {
            all.extend(framer.push(part).unwrap());
        }
        all.extend(framer.rest().unwrap());
        all.into_iter().map(|frame| (frame.event, frame.data)).collect()
    }

    #[test]
    fn cut_anywhere_the_events_are_the_same() {
        let text = "\u{feff}: hello\r\n\r\nevent: a\r\ndata: {\"x\":\"é😀\"}\r\n\r\nid: 7\nretry: \
            5\ndata:1\ndata\ndata: 2\n\n\rdata: cr\r\revent: empty\n\ndata: last";
        let wanted = [("a", "{\"x\":\"é😀\"}"), ("", "1\n\n2"), ("", "cr"), ("", "last")];
        let wanted: Vec<_> = wanted.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        for step in 1..text.len() {
            assert_eq!(frames(Framing::Events, text.as_bytes(), step), wanted, "step {step}");
        }
    }

    #[test]
    fn lines() {
        let text = "{\"a\":1}\n\n{\"b\":\"ü\"}\r\n{\"c\":";
        let wanted: Vec<_> = ["{\"a\":1}", "{\"b\":\"ü\"}", "{\"c\":"]
            .iter()
            .map(|line| (String::new(), (*line).to_owned()))
            .collect();
        for step in 1..text.len() {
            assert_eq!(frames(Framing::Lines, text.as_bytes(), step), wanted, "step {step}");
        }
    }

    #[test]
    fn bounds() {
        let mut framer = Framer::new(Framing::Events);
        let part = vec![b'x'; 1 << 20];
        let failed = (0..5).find_map(|_| framer.push(&part).err());
        assert_eq!(failed, Some(Misframed::TooLong(LONGEST)));
        let mut framer = Framer::new(Framing::Events);
        let line = [b"data: ".as_slice(), &part, b"\n"].concat();
        let failed = (0..5).find_map(|_| framer.push(&line).err());
        assert_eq!(failed, Some(Misframed::TooLong(LONGEST)));
        assert_eq!(Framer::new(Framing::Lines).push(b"\xff\xfe\n"), Err(Misframed::NoText));
    }
}

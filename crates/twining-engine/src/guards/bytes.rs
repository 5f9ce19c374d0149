//! Numbers and texts in a row, as they are kept: little, and read without copying.

/// Puts them down.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, n: usize) {
        // Nothing that is kept comes near; what did would be read as damaged.
        self.0.extend(u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(super) fn part(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.extend(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.part(text.as_bytes());
    }

    pub(super) fn texts(&mut self, texts: &[impl AsRef<str>]) {
        self.number(texts.len());
        texts.iter().for_each(|text| self.text(text.as_ref()));
    }

    pub(super) fn optional(&mut self, text: Option<&str>) {
        self.texts(text.as_slice());
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Takes them up again. Every answer is none where the bytes are not what was put down.
#[derive(Debug)]
pub(super) struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    }

    pub(super) fn part(&mut self) -> Option<&'b [u8]> {
        let length = self.number()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    pub(super) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.part()?).ok()
    }

    pub(super) fn owned_texts(&mut self) -> Option<Vec<String>> {
        self.several(|kept| kept.text().map(str::to_owned))
    }

    pub(super) fn optional(&mut self) -> Option<Option<String>> {
        Some(self.owned_texts()?.pop())
    }

    /// As many as the number in front says. Nothing is set aside for them before
    /// they are there: the number may be anybody's.
    pub(super) fn several<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| one(self)).collect()
    }
}

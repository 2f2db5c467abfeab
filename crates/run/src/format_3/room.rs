//! Limit on the numbers restored from a text. A reading restores the counts that it leaves out, so
//! a crafted megabyte could otherwise fill any memory.

/// Numbers that may still be restored.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Room {
    /// Numbers for each byte of the text. With a thousand CPUs zc wrote a byte for 5 numbers at
    /// most, with two CPUs five bytes for each.
    const PER_BYTE: usize = 32;
    /// Numbers for any text.
    const LEAST: usize = 4096;

    /// The room of a text of so many bytes.
    pub(super) fn for_text(bytes: usize) -> Self {
        Self(bytes.saturating_mul(Self::PER_BYTE).saturating_add(Self::LEAST))
    }

    /// Takes the room for a reading.
    ///
    /// # Errors
    /// There is none left.
    pub(super) fn take(&mut self, numbers: usize) -> Result<(), String> {
        let left = self.0.checked_sub(numbers);
        self.0 = left.ok_or("readings of more CPUs than the text has room for")?;
        Ok(())
    }
}

//! Room for many values of one size: numbered, never moved, and given back when a part of it is empty.
//!
//! Values stand in chunks without a header or a pointer of their own; a queue that drains gives whole chunks back. The crate
//! `slab` keeps them in one `Vec`, which moves all of them whenever it grows and never shrinks.

/// Values of a chunk.
const CHUNK: usize = 1024;

/// Values by their slot.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Chunk<T>>,
    /// Chunks with an empty slot.
    roomy: Vec<u32>,
}

#[derive(Debug)]
struct Chunk<T> {
    /// Without memory while none is used.
    slots: Vec<Option<T>>,
    /// Slots that were used and are empty.
    free: Vec<u16>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { chunks: Vec::new(), roomy: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let at = match self.roomy.last() {
            Some(at) => *at,
            None => self.add_chunk(),
        };
        let chunk = &mut self.chunks[at as usize];
        let slot = match chunk.free.pop() {
            Some(slot) => {
                chunk.slots[usize::from(slot)] = Some(value);
                u32::from(slot)
            }
            None => {
                chunk.slots.reserve_exact(CHUNK - chunk.slots.len());
                chunk.slots.push(Some(value));
                chunk.slots.len() as u32 - 1
            }
        };
        if chunk.is_full() {
            self.roomy.pop();
        }
        at * CHUNK as u32 + slot
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let (at, slot) = place(slot);
        let chunk = self.chunks.get_mut(at)?;
        let was_full = chunk.is_full();
        let value = chunk.slots.get_mut(slot)?.take()?;
        chunk.free.push(slot as u16);
        if chunk.free.len() == chunk.slots.len() {
            *chunk = Chunk { slots: Vec::new(), free: Vec::new() };
        }
        if was_full {
            self.roomy.push(at as u32);
        }
        Some(value)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        let (at, slot) = place(slot);
        self.chunks.get(at)?.slots.get(slot)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        let (at, slot) = place(slot);
        self.chunks.get_mut(at)?.slots.get_mut(slot)?.as_mut()
    }

    /// In no order that may reach an output.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| &chunk.slots).flatten()
    }

    fn add_chunk(&mut self) -> u32 {
        let at = u32::try_from(self.chunks.len()).expect("fewer than 2^32 values fit in memory");
        self.chunks.push(Chunk { slots: Vec::new(), free: Vec::new() });
        self.roomy.push(at);
        at
    }
}

impl<T> Chunk<T> {
    fn is_full(&self) -> bool {
        self.free.is_empty() && self.slots.len() == CHUNK
    }
}

/// Chunk and index in it.
fn place(slot: u32) -> (usize, usize) {
    (slot as usize / CHUNK, slot as usize % CHUNK)
}

#[cfg(test)]
#[path = "slab_tests.rs"]
mod slab_tests;

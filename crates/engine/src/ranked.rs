//! A sorted set that also knows places: the n-th element, and how many are smaller than one.
//!
//! The set of the standard library cannot say either without counting, and both are what makes page 4,000 of a list as cheap
//! as its first one. Elements stand in chunks, each sorted; a full chunk takes exactly its elements' bytes, so a long list that
//! grows at its end carries nothing else. A place is found by adding up the lengths of the chunks before it: two thousand
//! additions for a million elements, which is a microsecond.

use std::collections::VecDeque;
use std::ops::Range;

/// Elements of a chunk. Greater makes an insertion in the middle dearer, smaller makes finding a place dearer.
const CHUNK: usize = 512;

/// A sorted set.
#[derive(Debug)]
pub(crate) struct Ranked<T> {
    /// None is empty; all of one are smaller than all of the next.
    chunks: Vec<VecDeque<T>>,
    len: usize,
}

impl<T> Default for Ranked<T> {
    fn default() -> Ranked<T> {
        Ranked { chunks: Vec::new(), len: 0 }
    }
}

impl<T: Copy + Ord> Ranked<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.chunks.first()?.front()
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.chunks.last()?.back()
    }

    /// Whether it was not there yet.
    pub(crate) fn insert(&mut self, value: T) -> bool {
        let at = self.chunk_for(&value);
        let is_last = at + 1 == self.chunks.len();
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.push_chunk(value);
            return true;
        };
        let Err(place) = search(chunk, &value) else { return false };
        self.len += 1;
        if chunk.len() < CHUNK {
            match place == chunk.len() {
                true => chunk.push_back(value),
                false => chunk.insert(place, value),
            }
            return true;
        }
        if place == CHUNK && is_last {
            // The usual case of a list that grows at its end: what is full stays full.
            self.chunks.push(VecDeque::from([value]));
            return true;
        }
        let mut upper = chunk.split_off(CHUNK / 2);
        match place.checked_sub(CHUNK / 2) {
            Some(place) => upper.insert(place, value),
            None => chunk.insert(place, value),
        }
        self.chunks.insert(at + 1, upper);
        true
    }

    /// Whether it was there.
    pub(crate) fn remove(&mut self, value: &T) -> bool {
        let at = self.chunk_for(value);
        let Some(chunk) = self.chunks.get_mut(at) else { return false };
        let Ok(place) = search(chunk, value) else { return false };
        chunk.remove(place);
        self.len -= 1;
        if chunk.is_empty() {
            self.chunks.remove(at);
        } else if chunk.len() < CHUNK / 4 {
            self.join(at);
        }
        true
    }

    /// The smallest, taken out.
    pub(crate) fn pop_first(&mut self) -> Option<T> {
        let first = *self.first()?;
        self.remove(&first).then_some(first)
    }

    /// How many are smaller than `value`, whether it is there or not.
    pub(crate) fn rank(&self, value: &T) -> usize {
        let at = self.chunk_for(value);
        let Some(chunk) = self.chunks.get(at) else { return 0 };
        let inside = chunk.binary_search(value).unwrap_or_else(|place| place);
        self.chunks[..at].iter().map(VecDeque::len).sum::<usize>() + inside
    }

    pub(crate) fn iter(&self) -> Slice<'_, T> {
        self.slice(0..self.len)
    }

    /// The elements at these places; what lies behind the end is left out.
    pub(crate) fn slice(&self, places: Range<usize>) -> Slice<'_, T> {
        let end = places.end.min(self.len);
        let start = places.start.min(end);
        Slice { chunks: &self.chunks, front: self.place(start), back: self.place(end), left: end - start }
    }

    /// Chunk and index in it of a place.
    fn place(&self, mut place: usize) -> (usize, usize) {
        for (at, chunk) in self.chunks.iter().enumerate() {
            if place < chunk.len() {
                return (at, place);
            }
            place -= chunk.len();
        }
        (self.chunks.len(), 0)
    }

    /// The only chunk that can hold `value`; the last one for what is greater than all.
    fn chunk_for(&self, value: &T) -> usize {
        let last = self.chunks.len().saturating_sub(1);
        // Most of what happens to a queue happens at one of its ends.
        if self.chunks.first().and_then(VecDeque::back).is_some_and(|greatest| greatest >= value) {
            return 0;
        }
        if self.chunks.get(last).and_then(VecDeque::front).is_some_and(|least| least <= value) {
            return last;
        }
        let at = self.chunks.partition_point(|chunk| chunk.back().is_some_and(|greatest| greatest < value));
        at.min(last)
    }

    fn push_chunk(&mut self, value: T) {
        self.chunks.push(VecDeque::from([value]));
        self.len += 1;
    }

    /// Puts a small chunk together with a neighbour that is small too, so that what random removals leave stays dense.
    fn join(&mut self, at: usize) {
        let lengths = |one: usize, other: usize| {
            self.chunks.get(one).zip(self.chunks.get(other)).map_or(usize::MAX, |(one, other)| one.len() + other.len())
        };
        let before = at.checked_sub(1).filter(|before| lengths(*before, at) <= CHUNK / 2);
        let first = before.or_else(|| (lengths(at, at + 1) <= CHUNK / 2).then_some(at));
        if let Some(first) = first {
            let mut second = self.chunks.remove(first + 1);
            self.chunks[first].append(&mut second);
        }
    }

    /// The element at a place that is there.
    fn at(&self, place: usize) -> T {
        let (at, place) = self.place(place);
        self.chunks[at][place]
    }
}

/// As `binary_search`, but that the ends are looked at first: most of what happens to a list happens there.
fn search<T: Ord>(chunk: &VecDeque<T>, value: &T) -> Result<usize, usize> {
    if chunk.back().is_some_and(|greatest| greatest < value) {
        return Err(chunk.len());
    }
    if chunk.front() == Some(value) {
        return Ok(0);
    }
    chunk.binary_search(value)
}

/// Neighbouring elements, from either end.
pub(crate) struct Slice<'a, T> {
    chunks: &'a [VecDeque<T>],
    front: (usize, usize),
    /// One past the last.
    back: (usize, usize),
    left: usize,
}

impl<'a, T> Iterator for Slice<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        let (at, place) = self.front;
        let chunk = &self.chunks[at];
        self.front = if place + 1 < chunk.len() { (at, place + 1) } else { (at + 1, 0) };
        chunk.get(place)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T> DoubleEndedIterator for Slice<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        let (at, place) = self.back;
        self.back = if place > 0 { (at, place - 1) } else { (at - 1, self.chunks[at - 1].len() - 1) };
        self.chunks[self.back.0].get(self.back.1)
    }
}

impl<T> ExactSizeIterator for Slice<'_, T> {}

impl<'a, T: Copy + Ord> IntoIterator for &'a Ranked<T> {
    type Item = &'a T;
    type IntoIter = Slice<'a, T>;

    fn into_iter(self) -> Slice<'a, T> {
        self.iter()
    }
}

/// The elements at `places` of several lists taken together in order. No element stands in two of them.
pub(crate) fn merged<T: Copy + Ord>(lists: &[&Ranked<T>], places: Range<usize>) -> Vec<T> {
    let total: usize = lists.iter().map(|list| list.len()).sum();
    let end = places.end.min(total);
    let start = places.start.min(end);
    let mut parts: Vec<_> = Vec::with_capacity(lists.len());
    for (list, from) in lists.iter().zip(split(lists, start)) {
        parts.push(list.slice(from..from + (end - start)).peekable());
    }
    parts.retain(|part| part.len() > 0);
    let mut found = Vec::with_capacity(end - start);
    while found.len() < end - start {
        if let [only] = &mut parts[..] {
            found.extend(only.take(end - start - found.len()));
            break;
        }
        let least = parts.iter_mut().filter_map(|part| Some((**part.peek()?, part))).min_by_key(|(value, _)| *value);
        let Some((value, part)) = least else { break };
        part.next();
        found.push(value);
    }
    found
}

/// How many elements of each list are among the first `count` of all. Each step halves what is in doubt of one list; of a single
/// one, and of a long one beside short ones, that is little from the start.
fn split<T: Copy + Ord>(lists: &[&Ranked<T>], count: usize) -> Vec<usize> {
    let total: usize = lists.iter().map(|list| list.len()).sum();
    let mut low: Vec<usize> = lists.iter().map(|list| count.saturating_sub(total - list.len())).collect();
    let mut high: Vec<usize> = lists.iter().map(|list| list.len().min(count)).collect();
    while low.iter().sum::<usize>() < count {
        let longest = (0..lists.len()).max_by_key(|at| high[*at] - low[*at]).expect("what is missing is in some list");
        let middle = low[longest].midpoint(high[longest]);
        let pivot = lists[longest].at(middle);
        let ranks = lists.iter().enumerate().map(|(at, list)| list.rank(&pivot).clamp(low[at], high[at]));
        let ranks: Vec<usize> = ranks.collect();
        if ranks.iter().sum::<usize>() < count {
            low = ranks;
            low[longest] = middle + 1;
        } else {
            high = ranks;
        }
        if high.iter().sum::<usize>() == count {
            return high;
        }
    }
    low
}

#[cfg(test)]
#[path = "ranked_tests.rs"]
mod ranked_tests;

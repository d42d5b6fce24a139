//! One MessagePack value after the other, borrowed from the payload. Nothing is allocated by a length in the bytes.

/// What stands at the reader's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// nil
    Nil,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A float of 32 bits.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
    /// A text, which may not be UTF-8.
    Str(&'a [u8]),
    /// Bytes.
    Bin(&'a [u8]),
    /// An extension: its type and its bytes.
    Ext(i8, &'a [u8]),
    /// So many values follow.
    Array(u32),
    /// So many pairs follow.
    Map(u32),
}

/// The bytes end in the middle of a value, or 0xc1 stands there, which is no MessagePack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Reads forward.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next value; of a container only its head.
    pub fn next(&mut self) -> Result<Item<'a>, Broken> {
        let [head] = self.array()?;
        Ok(match head {
            0x00..=0x7f => Item::UInt(u64::from(head)),
            0x80..=0x8f => Item::Map(u32::from(head & 0x0f)),
            0x90..=0x9f => Item::Array(u32::from(head & 0x0f)),
            0xa0..=0xbf => Item::Str(self.take(usize::from(head & 0x1f))?),
            0xc0 => Item::Nil,
            0xc1 => return Err(Broken),
            0xc2 => Item::Bool(false),
            0xc3 => Item::Bool(true),
            0xc4..=0xc6 => Item::Bin(self.counted(head - 0xc4)?),
            0xc7..=0xc9 => {
                let length = self.length(head - 0xc7)?;
                self.ext(length)?
            }
            0xca => Item::F32(f32::from_be_bytes(self.array()?)),
            0xcb => Item::F64(f64::from_be_bytes(self.array()?)),
            0xcc => Item::UInt(u64::from(u8::from_be_bytes(self.array()?))),
            0xcd => Item::UInt(u64::from(u16::from_be_bytes(self.array()?))),
            0xce => Item::UInt(u64::from(u32::from_be_bytes(self.array()?))),
            0xcf => Item::UInt(u64::from_be_bytes(self.array()?)),
            0xd0 => Item::Int(i64::from(i8::from_be_bytes(self.array()?))),
            0xd1 => Item::Int(i64::from(i16::from_be_bytes(self.array()?))),
            0xd2 => Item::Int(i64::from(i32::from_be_bytes(self.array()?))),
            0xd3 => Item::Int(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => self.ext(1 << (head - 0xd4))?,
            0xd9..=0xdb => Item::Str(self.counted(head - 0xd9)?),
            0xdc => Item::Array(u32::from(u16::from_be_bytes(self.array()?))),
            0xdd => Item::Array(u32::from_be_bytes(self.array()?)),
            0xde => Item::Map(u32::from(u16::from_be_bytes(self.array()?))),
            0xdf => Item::Map(u32::from_be_bytes(self.array()?)),
            0xe0..=0xff => Item::Int(i64::from(head as i8)),
        })
    }

    fn ext(&mut self, length: usize) -> Result<Item<'a>, Broken> {
        let [kind] = self.array()?;
        Ok(Item::Ext(kind as i8, self.take(length)?))
    }

    fn counted(&mut self, size: u8) -> Result<&'a [u8], Broken> {
        let length = self.length(size)?;
        self.take(length)
    }

    /// A length of one, two or four bytes, for a `size` of 0, 1 or 2.
    fn length(&mut self, size: u8) -> Result<usize, Broken> {
        Ok(match size {
            0 => usize::from(u8::from_be_bytes(self.array()?)),
            1 => usize::from(u16::from_be_bytes(self.array()?)),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(Broken)?;
        self.rest = rest;
        Ok(*head)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Broken)?;
        self.rest = rest;
        Ok(taken)
    }
}

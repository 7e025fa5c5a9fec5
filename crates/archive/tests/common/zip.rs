//! Zips made by hand.
#![allow(dead_code, reason = "no test file uses all of it")]

/// A zip, made by hand.
#[derive(Default)]
pub(crate) struct Zip {
    pub bytes: Vec<u8>,
    pub directory: Vec<u8>,
    pub entries: u16,
    /// Date and time of the next entries, as MS-DOS writes them; `None`: some day.
    pub dos: Option<(u16, u16)>,
}

pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

impl Zip {
    pub(crate) fn stored(self, name: impl AsRef<[u8]>, content: &[u8]) -> Zip {
        self.packed(name, 0, content, content)
    }

    pub(crate) fn packed(self, name: impl AsRef<[u8]>, method: u16, packed: &[u8], content: &[u8]) -> Zip {
        self.entry(name.as_ref(), method, packed, content.len() as u32, crc(content), 3, 0o100_644 << 16, &[])
    }

    /// A stored entry with the attributes that `host` gives it.
    pub(crate) fn with(self, name: &str, content: &[u8], host: u8, attributes: u32) -> Zip {
        self.entry(name.as_bytes(), 0, content, content.len() as u32, crc(content), host, attributes, &[])
    }

    #[allow(clippy::too_many_arguments)]
    pub(crate) fn entry(
        mut self,
        name: &[u8],
        method: u16,
        packed: &[u8],
        size: u32,
        crc: u32,
        host: u8,
        attributes: u32,
        extra: &[u8],
    ) -> Zip {
        let start = self.bytes.len() as u32;
        let mut common = Vec::new();
        common.extend([20, 0, 0, 0]);
        common.extend(method.to_le_bytes());
        let (date, time) = self.dos.unwrap_or((0x5221, 0));
        common.extend(time.to_le_bytes());
        common.extend(date.to_le_bytes());
        common.extend(crc.to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend(size.to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        self.bytes.extend([b"PK\x03\x04", &common[..], &[0, 0], name, packed].concat());
        self.directory.extend([b"PK\x01\x02", &[20, host][..], &common].concat());
        self.directory.extend((extra.len() as u16).to_le_bytes());
        self.directory.extend([0; 6]);
        self.directory.extend(attributes.to_le_bytes());
        self.directory.extend(start.to_le_bytes());
        self.directory.extend([name, extra].concat());
        self.entries += 1;
        self
    }

    pub(crate) fn end(self) -> Vec<u8> {
        let Zip { mut bytes, directory, entries, .. } = self;
        let start = bytes.len() as u32;
        bytes.extend(&directory);
        bytes.extend(b"PK\x05\x06\0\0\0\0");
        bytes.extend(entries.to_le_bytes());
        bytes.extend(entries.to_le_bytes());
        bytes.extend((directory.len() as u32).to_le_bytes());
        bytes.extend(start.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }
}

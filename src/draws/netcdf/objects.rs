//! What lies in an HDF5 file: groups, links and attributes by address.
//!
//! The HDF5 crate reads datasets, but neither the numeric attributes of groups, nor the
//! references by which a variable names its dimensions, nor the order in which things were
//! created. This walks the object headers for those, with the crate's decoders.
//! Source: HDF5 File Format Specification 3.0, III.A to III.G and IV.A.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rust_hdf5::format::btree_v1::BTreeV1Node;
use rust_hdf5::format::dense_attr::read_dense_attributes;
use rust_hdf5::format::dense_link::read_dense_links;
use rust_hdf5::format::global_heap::{GlobalHeapCollection, decode_vlen_reference};
use rust_hdf5::format::local_heap::{LocalHeapHeader, local_heap_get_string};
use rust_hdf5::format::messages::attr_info::AttributeInfoMessage;
use rust_hdf5::format::messages::attribute::{AttributeEntry, AttributeMessage};
use rust_hdf5::format::messages::link::{LinkMessage, LinkTarget};
use rust_hdf5::format::messages::link_info::LinkInfoMessage;
use rust_hdf5::format::messages::{
    MSG_ATTR_INFO, MSG_ATTRIBUTE, MSG_DATASPACE, MSG_LINK, MSG_LINK_INFO,
    MSG_OBJ_HEADER_CONTINUATION, MSG_SYMBOL_TABLE,
};
use rust_hdf5::format::superblock::{SuperblockV0V1, SuperblockV2V3, detect_superblock_version};
use rust_hdf5::format::symbol_table::SymbolTableNode;
use rust_hdf5::format::{BlockReader, FormatContext, FormatError, FormatResult};

/// Largest single structure (header block, heap) that is believed, in bytes.
const BLOCK_MAX: usize = 64 << 20;

/// Most object header blocks, or tree nodes, that are followed for one object.
const STEPS_MAX: usize = 100_000;

/// An HDF5 file, read by address.
pub(super) struct Objects {
    blocks: Blocks,
    context: FormatContext,
    root: u64,
    leaf_entries: u16,
    node_entries: u16,
}

struct Blocks {
    file: File,
    base: u64,
}

impl BlockReader for Blocks {
    fn read_block(&mut self, offset: u64, len: usize) -> FormatResult<Vec<u8>> {
        if len > BLOCK_MAX {
            return Err(invalid(format!("a structure of {len} bytes")));
        }
        let start = offset
            .checked_add(self.base)
            .ok_or_else(|| invalid("an address".into()))?;
        let failed = |error: std::io::Error| invalid(error.to_string());
        self.file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let mut bytes = Vec::new();
        (&mut self.file)
            .take(len as u64)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Ok(bytes)
    }
}

/// A group or a dataset.
#[derive(Default)]
pub(super) struct Object {
    /// Name and address of what the group holds, in order of creation where that is kept.
    pub(super) links: Vec<(String, u64)>,
    /// Attributes that could be decoded, in order of creation where that is kept.
    pub(super) attributes: Vec<AttributeMessage>,
    /// True for a dataset.
    pub(super) is_dataset: bool,
}

impl Object {
    pub(super) fn attribute(&self, name: &str) -> Option<&AttributeMessage> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// One header message.
struct Message {
    kind: u8,
    order: u16,
    data: Vec<u8>,
}

fn invalid(message: String) -> FormatError {
    FormatError::InvalidData(message)
}

fn le(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .take(8)
        .rev()
        .fold(0, |n, &b| n << 8 | u64::from(b))
}

impl Objects {
    pub(super) fn open(path: &Path) -> FormatResult<Objects> {
        let file = File::open(path).map_err(|error| invalid(error.to_string()))?;
        let mut blocks = Blocks { file, base: 0 };
        // The superblock stands at 0 in every file that NetCDF writers make.
        let start = blocks.read_block(0, 512)?;
        let (base, address, length, root, leaf_k, node_k) = match detect_superblock_version(&start)?
        {
            0 | 1 => {
                let s = SuperblockV0V1::decode(&start)?;
                let root = s.root_symbol_table_entry.obj_header_addr;
                let (leaf_k, node_k) = (s.sym_leaf_k, s.btree_internal_k);
                (
                    s.base_address,
                    s.sizeof_offsets,
                    s.sizeof_lengths,
                    root,
                    leaf_k,
                    node_k,
                )
            }
            _ => {
                let s = SuperblockV2V3::decode(&start)?;
                let root = s.root_group_object_header_address;
                (
                    s.base_address,
                    s.sizeof_offsets,
                    s.sizeof_lengths,
                    root,
                    4,
                    16,
                )
            }
        };
        if !matches!(address, 2 | 4 | 8) || !matches!(length, 2 | 4 | 8) {
            return Err(invalid(format!(
                "addresses of {address} and {length} bytes"
            )));
        }
        blocks.base = base;
        Ok(Objects {
            blocks,
            context: FormatContext {
                sizeof_addr: address,
                sizeof_size: length,
            },
            root,
            leaf_entries: leaf_k.saturating_mul(2),
            node_entries: node_k.saturating_mul(2),
        })
    }

    /// Address of the root group.
    pub(super) fn root(&self) -> u64 {
        self.root
    }

    /// Reads the group or dataset at `address`.
    pub(super) fn object(&mut self, address: u64) -> FormatResult<Object> {
        let mut object = Object::default();
        let mut links: Vec<(i64, String, u64)> = Vec::new();
        let mut attributes: Vec<(u16, AttributeEntry)> = Vec::new();
        for message in self.messages(address)? {
            let data = &message.data;
            match message.kind {
                MSG_DATASPACE => object.is_dataset = true,
                MSG_LINK => add_link(&mut links, LinkMessage::decode(data, &self.context)?.0),
                MSG_LINK_INFO => {
                    let info = LinkInfoMessage::decode(data, &self.context)?.0;
                    for link in read_dense_links(&info, &self.context, &mut self.blocks)? {
                        add_link(&mut links, link);
                    }
                }
                MSG_SYMBOL_TABLE => self.symbol_table(data, &mut links)?,
                MSG_ATTRIBUTE => {
                    attributes.push((message.order, AttributeEntry::parse(data, &self.context)?));
                }
                MSG_ATTR_INFO => {
                    let info = AttributeInfoMessage::decode(data, &self.context)?.0;
                    let dense = read_dense_attributes(&info, &self.context, &mut self.blocks)?;
                    attributes.extend(
                        dense
                            .into_iter()
                            .map(|a| (a.creation_index().unwrap_or(0), a)),
                    );
                }
                _ => {}
            }
        }
        links.sort_by_key(|link| link.0);
        attributes.sort_by_key(|attribute| attribute.0);
        object.links = links
            .into_iter()
            .map(|(_, name, address)| (name, address))
            .collect();
        object.attributes = attributes
            .iter()
            .filter_map(|(_, a)| a.readable().cloned())
            .collect();
        Ok(object)
    }

    /// All header messages of an object, from all blocks of its header.
    fn messages(&mut self, address: u64) -> FormatResult<Vec<Message>> {
        let start = self.blocks.read_block(address, 64)?;
        let short = || invalid("an object header that is cut short".into());
        let mut messages = Vec::new();
        // Blocks still to be read: address of the first message, bytes of messages.
        let mut waiting: Vec<(u64, usize)> = Vec::new();
        let modern = start.starts_with(b"OHDR");
        let mut tracked = false;
        if modern {
            let flags = *start.get(5).ok_or_else(short)?;
            let width = 1 << (flags & 3);
            let mut at = 6 + if flags & 0x20 != 0 { 16 } else { 0 };
            at += if flags & 0x10 != 0 { 4 } else { 0 };
            let size = le(start.get(at..at + width).ok_or_else(short)?);
            tracked = flags & 0x04 != 0;
            waiting.push((address.saturating_add((at + width) as u64), size as usize));
        } else if start.first() == Some(&1) {
            let size = le(start.get(8..12).ok_or_else(short)?);
            waiting.push((address.saturating_add(16), size as usize));
        } else {
            return Err(invalid("an object header without its signature".into()));
        }
        let mut seen = BTreeSet::new();
        while let Some((at, size)) = waiting.pop() {
            if !seen.insert(at) || seen.len() > STEPS_MAX {
                return Err(invalid("an object header that refers to itself".into()));
            }
            let block = self.blocks.read_block(at, size)?;
            if block.len() < size {
                return Err(short());
            }
            let from = messages.len();
            split_messages(&block, modern, tracked, &mut messages);
            for message in &messages[from..] {
                if message.kind == MSG_OBJ_HEADER_CONTINUATION {
                    waiting.push(self.continuation(&message.data, modern)?);
                }
            }
        }
        Ok(messages)
    }

    /// Where a further header block's messages begin and how many bytes they take.
    fn continuation(&self, data: &[u8], modern: bool) -> FormatResult<(u64, usize)> {
        let (a, s) = (
            self.context.sizeof_addr as usize,
            self.context.sizeof_size as usize,
        );
        let short = || invalid("a header continuation that is cut short".into());
        let address = le(data.get(..a).ok_or_else(short)?);
        let length = le(data.get(a..a + s).ok_or_else(short)?);
        if !modern {
            return Ok((address, length as usize));
        }
        // Signature before, checksum after.
        let length = length.checked_sub(8).ok_or_else(short)?;
        Ok((address.checked_add(4).ok_or_else(short)?, length as usize))
    }

    /// The links of a group in the old form: a B-tree of symbol table nodes and a heap of names.
    fn symbol_table(
        &mut self,
        data: &[u8],
        links: &mut Vec<(i64, String, u64)>,
    ) -> FormatResult<()> {
        let (a, s) = (
            self.context.sizeof_addr as usize,
            self.context.sizeof_size as usize,
        );
        let short = || invalid("a symbol table message that is cut short".into());
        let tree = le(data.get(..a).ok_or_else(short)?);
        let heap = le(data.get(a..2 * a).ok_or_else(short)?);
        let header = LocalHeapHeader::decode(&self.blocks.read_block(heap, 64)?, a, s)?;
        let names = self
            .blocks
            .read_block(header.data_addr, header.data_size as usize)?;
        let mut waiting = vec![tree];
        let mut seen = BTreeSet::new();
        while let Some(address) = waiting.pop() {
            if !seen.insert(address) || seen.len() > STEPS_MAX {
                return Err(invalid("a tree that refers to itself".into()));
            }
            let size = 64 + 48 * usize::from(self.node_entries.max(self.leaf_entries)) + 48;
            let block = self.blocks.read_block(address, size)?;
            if block.starts_with(b"SNOD") {
                let node = SymbolTableNode::decode(&block, a, s, self.leaf_entries)?;
                for entry in node.entries {
                    let name = local_heap_get_string(&names, entry.name_offset)?;
                    links.push((0, name, entry.obj_header_addr));
                }
            } else {
                let node = BTreeV1Node::decode(&block, a, s, self.node_entries)?;
                waiting.extend(node.children.iter().rev());
            }
        }
        Ok(())
    }

    /// Bytes of one element of variable-length data.
    pub(super) fn element_bytes(&self) -> usize {
        8 + self.context.sizeof_addr as usize
    }

    /// The bytes of element `i` of variable-length data.
    pub(super) fn heap_bytes(&mut self, elements: &[u8], i: usize) -> FormatResult<Vec<u8>> {
        let size = self.element_bytes();
        let element = elements
            .get(i * size..)
            .ok_or_else(|| invalid("too few elements".into()))?;
        let (length, address, index) = decode_vlen_reference(element, &self.context)?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let start = self.blocks.read_block(address, 32)?;
        let total = GlobalHeapCollection::decode_size(&start, &self.context)?;
        let block = self.blocks.read_block(address, total)?;
        let (heap, _) = GlobalHeapCollection::decode(&block, &self.context)?;
        let found = u16::try_from(index)
            .ok()
            .and_then(|index| heap.get_object(index));
        found
            .map(<[u8]>::to_vec)
            .ok_or_else(|| invalid("a heap without the object".into()))
    }

    /// The addresses that element `i` of a variable-length list of object references names.
    pub(super) fn references(&mut self, elements: &[u8], i: usize) -> FormatResult<Vec<u64>> {
        let width = self.context.sizeof_addr as usize;
        Ok(self
            .heap_bytes(elements, i)?
            .chunks_exact(width)
            .map(le)
            .collect())
    }
}

fn add_link(links: &mut Vec<(i64, String, u64)>, link: LinkMessage) {
    if let LinkTarget::Hard { address } = link.target {
        links.push((link.creation_order.unwrap_or(0), link.name, address));
    }
}

/// Cuts a block of a header into its messages.
fn split_messages(block: &[u8], modern: bool, tracked: bool, messages: &mut Vec<Message>) {
    let envelope = match (modern, tracked) {
        (false, _) => 8,
        (true, false) => 4,
        (true, true) => 6,
    };
    let mut at = 0;
    while let Some(head) = block.get(at..at + envelope) {
        let (kind, size, order) = if modern {
            let order = if tracked { le(&head[4..6]) as u16 } else { 0 };
            (head[0], le(&head[1..3]) as usize, order)
        } else {
            (head[0], le(&head[2..4]) as usize, 0)
        };
        let Some(data) = block.get(at + envelope..at + envelope + size) else {
            break;
        };
        messages.push(Message {
            kind,
            order,
            data: data.to_vec(),
        });
        at += envelope + size;
    }
}

//! Find where the steps of a row stage must wait for each other.
//!
//! Blocks of a cluster share a tile. Element-wise steps and the columns that products compute are cut
//! in the same way, so what one such step writes and the next reads stays within a block; so does what every block has
//! for itself. Anything else crosses blocks.

use std::ops::Range;

/// How the blocks of a cluster divide an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Share {
    /// By columns, as the cut of so many columns says.
    Columns(usize),
    /// By rows.
    Rows,
    /// Every block reads everything.
    All,
}

/// Columns of the tile's memory, of what a block has for itself, parts of its shared memory, or a sum over rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Tile(Range<usize>),
    Own(Range<usize>),
    /// Left operands. Written by columns, they are handed on to all blocks.
    Slot(usize),
    /// The result of a product.
    Result,
    Scratch,
    Sum(usize),
}

impl Place {
    fn is_shared_memory(&self) -> bool {
        matches!(self, Place::Slot(_) | Place::Result | Place::Scratch)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) place: Place,
    pub(super) share: Share,
    pub(super) writes: bool,
}

/// What a step waits for: two bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Wait {
    None = 0,
    Block = 1,
    Cluster = 2,
    /// A cluster's barrier is one for each of its blocks too, but tools that look for races in shared memory take no notice of
    /// it. Few steps need this.
    Both = 3,
}

/// Accesses since the last waits.
#[derive(Default)]
pub(super) struct Hazards {
    /// With whether the block has waited since.
    open: Vec<(Access, bool)>,
}

impl Hazards {
    /// What must be waited for before a step with these accesses.
    pub(super) fn step(&mut self, accesses: Vec<Access>) -> Wait {
        let (mut most, mut shared) = (Wait::None, false);
        for ((old, waited), new) in
            self.open.iter().flat_map(|old| accesses.iter().map(move |new| (old, new)))
        {
            let wait = wait(old, *waited, new);
            most = most.max(wait);
            shared |= wait == Wait::Block && new.place.is_shared_memory();
        }
        let wait = if most == Wait::Cluster && shared { Wait::Both } else { most };
        match wait {
            Wait::None => {}
            Wait::Block => self.open.iter_mut().for_each(|(_, waited)| *waited = true),
            Wait::Cluster | Wait::Both => self.open.clear(),
        }
        self.open.extend(accesses.into_iter().map(|access| (access, false)));
        wait
    }
}

fn wait(old: &Access, waited: bool, new: &Access) -> Wait {
    if !(old.writes || new.writes) {
        return Wait::None;
    }
    let block = if waited { Wait::None } else { Wait::Block };
    match (&old.place, &new.place) {
        (Place::Result, Place::Result) | (Place::Scratch, Place::Scratch) => block,
        (Place::Sum(a), Place::Sum(b)) if a == b => block,
        (Place::Slot(a), Place::Slot(b)) if a == b => {
            let handed_on = |access: &Access| matches!(access.share, Share::Columns(_));
            if handed_on(old) || handed_on(new) { Wait::Cluster } else { block }
        }
        (Place::Own(a), Place::Own(b)) if a.start < b.end && b.start < a.end => block,
        (Place::Tile(a), Place::Tile(b)) if a.start < b.end && b.start < a.end => {
            let same = match (old.share, new.share) {
                (Share::Columns(a_cols), Share::Columns(b_cols)) => a_cols == b_cols && a.start == b.start,
                (Share::Rows, Share::Rows) => true,
                _ => false,
            };
            if same { block } else { Wait::Cluster }
        }
        _ => Wait::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(range: Range<usize>, share: Share, writes: bool) -> Access {
        Access { place: Place::Tile(range), share, writes }
    }

    #[test]
    fn steps_wait_for_what_they_read_and_overwrite() {
        let mut hazards = Hazards::default();
        let columns = Share::Columns(8);
        assert_eq!(hazards.step(vec![tile(0..8, columns, true)]), Wait::None);
        // The same columns of the same value stay within a block; after one wait no other is needed.
        assert_eq!(hazards.step(vec![tile(0..8, columns, false), tile(8..16, columns, true)]), Wait::Block);
        assert_eq!(hazards.step(vec![tile(0..8, columns, false)]), Wait::None);
        // A part of the value, or all of it, crosses blocks.
        assert_eq!(hazards.step(vec![tile(4..8, Share::Columns(4), false)]), Wait::Cluster);
        assert_eq!(hazards.step(vec![tile(8..16, Share::All, false)]), Wait::None);
        // Overwriting waits for readers.
        assert_eq!(hazards.step(vec![tile(8..16, columns, true)]), Wait::Cluster);
        // What is in shared memory waits for the block, also where a cluster is waited for.
        let scratch = || Access { place: Place::Scratch, share: columns, writes: true };
        assert_eq!(hazards.step(vec![scratch()]), Wait::None);
        assert_eq!(hazards.step(vec![scratch(), tile(8..16, Share::All, false)]), Wait::Both);
        assert_eq!(hazards.step(vec![scratch()]), Wait::Block);
    }

    #[test]
    fn operands_that_are_handed_on_wait_for_all_blocks_and_own_values_for_none() {
        let mut hazards = Hazards::default();
        let slot = |i, share, writes| Access { place: Place::Slot(i), share, writes };
        let own = |writes| Access { place: Place::Own(0..8), share: Share::All, writes };
        assert_eq!(hazards.step(vec![slot(0, Share::Columns(8), true), own(true)]), Wait::None);
        assert_eq!(hazards.step(vec![own(false)]), Wait::Block);
        assert_eq!(hazards.step(vec![slot(0, Share::All, false)]), Wait::Cluster);
        // The other slot is free; the first one is read until all blocks have waited again.
        assert_eq!(hazards.step(vec![slot(1, Share::Columns(8), true)]), Wait::None);
        assert_eq!(hazards.step(vec![slot(1, Share::All, false)]), Wait::Cluster);
        assert_eq!(hazards.step(vec![slot(0, Share::Columns(8), true)]), Wait::None);
        // What a block copies for itself.
        assert_eq!(hazards.step(vec![slot(2, Share::All, true)]), Wait::None);
        assert_eq!(hazards.step(vec![slot(2, Share::All, true)]), Wait::Block);
    }
}

//! Find where the steps of a row stage must wait for each other.
//!
//! Blocks of a cluster share a tile. Element-wise steps and the columns that products compute are cut
//! in the same way, so what one such step writes and the next reads stays within a block; anything
//! else crosses blocks.

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

/// Columns of the tile's memory, the staging memory, or a sum over rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Tile(Range<usize>),
    Stage,
    Scratch,
    Sum(usize),
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
            shared |= wait == Wait::Block && matches!(new.place, Place::Stage | Place::Scratch);
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
        (Place::Stage, Place::Stage) | (Place::Scratch, Place::Scratch) => block,
        (Place::Sum(a), Place::Sum(b)) if a == b => block,
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
}

//! Let threads stand for processes that share rows out.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses a part of this")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Barrier, Mutex};

use hmcvi_graph::{Parcel, Ranks};

/// What is on its way, by the process that has it and the one that gets it.
type Post = BTreeMap<(usize, usize), VecDeque<Vec<u8>>>;

/// A meeting of threads that stand for processes.
struct Meeting {
    table: Mutex<Vec<u8>>,
    barrier: Barrier,
    /// Bytes on their way from one to another.
    post: Mutex<Post>,
    /// Bytes that were handed out.
    moved: Mutex<usize>,
}

/// One of them.
struct Member {
    rank: usize,
    size: usize,
    meeting: Arc<Meeting>,
}

impl Ranks for Member {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn gather(&self, bytes: &mut [u8], ends: &[usize]) {
        let meeting = &self.meeting;
        assert_eq!((ends.len(), ends.last()), (self.size, Some(&bytes.len())));
        let start = self.rank.checked_sub(1).map_or(0, |before| ends[before]);
        meeting.barrier.wait();
        {
            let mut table = meeting.table.lock().expect("nobody panics");
            table.resize(bytes.len(), 0);
            table[start..ends[self.rank]].copy_from_slice(&bytes[start..ends[self.rank]]);
            *meeting.moved.lock().expect("nobody panics") += ends[self.rank] - start;
        }
        meeting.barrier.wait();
        bytes.copy_from_slice(&meeting.table.lock().expect("nobody panics"));
        meeting.barrier.wait();
    }

    fn pass(&self, parcels: Vec<Parcel<'_>>) {
        let meeting = &self.meeting;
        let mut post = meeting.post.lock().expect("nobody panics");
        for parcel in parcels.iter().filter(|parcel| parcel.from == self.rank) {
            *meeting.moved.lock().expect("nobody panics") += parcel.bytes.len();
            post.entry((parcel.from, parcel.to)).or_default().push_back(parcel.bytes.to_vec());
        }
        drop(post);
        meeting.barrier.wait();
        let mut post = meeting.post.lock().expect("nobody panics");
        for parcel in parcels.into_iter().filter(|parcel| parcel.to == self.rank) {
            let sent = post.get_mut(&(parcel.from, parcel.to)).and_then(VecDeque::pop_front);
            parcel.bytes.copy_from_slice(&sent.expect("both ends list it"));
        }
        drop(post);
        meeting.barrier.wait();
    }
}

/// What every one of so many processes makes of something, and how many bytes they handed out.
pub fn together<R: Send>(size: usize, job: impl Fn(Arc<dyn Ranks>) -> R + Sync) -> (Vec<R>, usize) {
    let (table, post, moved) = (Mutex::default(), Mutex::default(), Mutex::default());
    let meeting = Meeting { table, barrier: Barrier::new(size), post, moved };
    let (meeting, job) = (Arc::new(meeting), &job);
    let results = std::thread::scope(|scope| {
        let member = |rank| -> Arc<dyn Ranks> { Arc::new(Member { rank, size, meeting: meeting.clone() }) };
        let members: Vec<_> = (0..size).map(member).collect();
        let threads: Vec<_> = members.into_iter().map(|ranks| scope.spawn(move || job(ranks))).collect();
        threads.into_iter().map(|t| t.join().expect("nobody panics")).collect()
    });
    let moved = *meeting.moved.lock().expect("nobody panics");
    (results, moved)
}

//! Share rows out among processes, which are threads here: results are those of one, to the bit.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/training.rs"]
mod training;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Barrier, Mutex};

use hmcvi_graph::{CpuOptions, Graph, Parcel, Ranks, Run, Store};
use training::{SMALL, Trainer, model, random_store};

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
fn together<R: Send>(size: usize, job: impl Fn(Arc<dyn Ranks>) -> R + Sync) -> (Vec<R>, usize) {
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

fn bits(store: &Store<f32>) -> Vec<u32> {
    store.iter().flat_map(|(_, t)| t.values.iter().map(|v| v.to_bits())).collect()
}

/// Batches of many sizes, so that shards do not divide evenly, and some processes have none.
const BATCHES: [usize; 6] = [170, 300, 41, 16, 3, 1];

#[test]
fn training_has_the_same_bits_on_any_number_of_processes() {
    let program = model::training_step(SMALL);
    let train = |ranks: Option<Arc<dyn Ranks>>, threads: usize| {
        let options = CpuOptions { threads, ..CpuOptions::for_rows(300) };
        let mut trainer = Trainer::<f32>::new(&program, options, SMALL, random_store(SMALL));
        if let Some(ranks) = ranks {
            trainer.executable = trainer.executable.shared(ranks);
        }
        let bounds: Vec<u32> = BATCHES.iter().map(|rows| trainer.step(*rows).to_bits()).collect();
        (bounds, bits(&trainer.store))
    };
    let alone = train(None, 1);
    for (size, threads) in [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (9, 1)] {
        let (results, moved) = together(size, |ranks| train(Some(ranks), threads));
        assert!(results.iter().all(|found| *found == alone), "{size} processes of {threads} threads");
        assert_eq!(moved > 0, size > 1, "one process has nobody to talk to");
    }
}

#[test]
fn outputs_have_the_rows_of_all_processes() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let sum = x.square().sum_cols();
    let total = sum.sum_rows();
    // A second stage of rows, which needs the sums of all of them.
    let share = sum / total;
    let program =
        graph.program().output("share", share).output("total", total).compile().expect("well formed");
    let values: Vec<f32> = (0..3 * 250).map(|i| (i as f32 * 0.37).sin()).collect();
    let evaluate = |ranks: Option<Arc<dyn Ranks>>, rows: usize| {
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(250) };
        let mut executable = program.on_cpu::<f32>(options);
        if let Some(ranks) = ranks {
            executable = executable.shared(ranks);
        }
        let run = Run { rows, inputs: &[("x", &values[..3 * rows])], ..Run::default() };
        executable.evaluate(&Store::default(), &run).expect("everything is given");
        ["share", "total"].map(|name| executable.output(name).expect("an output").to_vec())
    };
    for rows in [250, 99, 17, 2] {
        let alone = evaluate(None, rows);
        assert_eq!((alone[0].len(), alone[1].len()), (rows, 1));
        for size in [2, 5] {
            let (results, _) = together(size, |ranks| evaluate(Some(ranks), rows));
            assert!(results.iter().all(|found| *found == alone), "{rows} rows, {size} processes");
        }
    }
}

#[test]
fn large_batches_are_shared_among_more_processes() {
    for (rows, shards) in [(1, 16), (500, 16), (4000, 25), (16_000, 100), (1_000_000, 256)] {
        assert_eq!(CpuOptions::for_rows(rows).shards, shards, "{rows} rows");
    }
}

#[test]
fn processes_hear_each_other() {
    let (heard, _) = together(3, |ranks| {
        let rank = ranks.rank();
        let nobody = ranks.any(false);
        let somebody = ranks.any(rank == 2);
        let first = ranks.of_first(vec![rank as u8 + 7; 5 - rank]);
        let all = ranks.of_all(&vec![rank as u8; rank]);
        (nobody, somebody, first, all)
    });
    let expected = (false, true, vec![7; 5], vec![vec![], vec![1], vec![2, 2]]);
    assert!(heard.iter().all(|found| *found == expected), "{heard:?}");
}

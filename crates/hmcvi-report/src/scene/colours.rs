//! Find 256 colours for a picture by cutting boxes of colours in halves, so that its PNG is a third as large.

/// Most colours of a palette.
const COLOURS: usize = 256;
/// Bits of a channel that tell colours apart.
const BITS: usize = 6;

/// A colour and how many pixels have it.
#[derive(Clone, Copy, Default)]
struct Counted {
    count: u64,
    sum: [u64; 3],
}

impl Counted {
    fn mean(&self) -> [u8; 3] {
        self.sum.map(|s| (s as f64 / self.count.max(1) as f64).round() as u8)
    }

    fn and(self, other: &Counted) -> Counted {
        Counted { count: self.count + other.count, sum: [0, 1, 2].map(|i| self.sum[i] + other.sum[i]) }
    }
}

/// A palette of red, green and blue bytes, and the number of every pixel's colour in it.
pub(super) fn reduced(pixels: &[[u8; 3]]) -> (Vec<u8>, Vec<u8>) {
    let key = |[r, g, b]: &[u8; 3]| {
        [r, g, b].iter().fold(0, |key, channel| key << BITS | usize::from(**channel) >> (8 - BITS))
    };
    let mut all = vec![Counted::default(); 1 << (3 * BITS)];
    for pixel in pixels {
        let one = Counted { count: 1, sum: pixel.map(u64::from) };
        let counted = &mut all[key(pixel)];
        *counted = counted.and(&one);
    }
    let first: Vec<usize> = (0..all.len()).filter(|k| all[*k].count > 0).collect();
    let mut boxes = vec![first];
    while boxes.len() < COLOURS {
        let all_boxes = boxes.iter().map(|b| importance(b, &all)).enumerate();
        let widest = all_boxes.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
        let Some((i, (_, channel))) = widest.filter(|(_, (importance, _))| *importance > 0.0) else { break };
        let mut whole = boxes.swap_remove(i);
        whole.sort_by_key(|k| all[*k].mean()[channel]);
        let half: u64 = whole.iter().map(|k| all[*k].count).sum::<u64>() / 2;
        let mut sum = 0;
        let cut = whole.iter().position(|k| {
            sum += all[*k].count;
            sum > half
        });
        let right = whole.split_off(cut.unwrap_or(0).clamp(1, whole.len() - 1));
        boxes.extend([whole, right]);
    }
    let mut number = vec![0u8; all.len()];
    let mut palette = Vec::new();
    for (i, members) in boxes.iter().enumerate() {
        members.iter().for_each(|k| number[*k] = i as u8);
        palette.extend(members.iter().fold(Counted::default(), |sum, k| sum.and(&all[*k])).mean());
    }
    (palette, pixels.iter().map(|pixel| number[key(pixel)]).collect())
}

/// How much a box has to be cut, and in which channel: its width, and a little of how many pixels it has.
fn importance(members: &[usize], all: &[Counted]) -> (f64, usize) {
    let means = || members.iter().map(|k| all[*k].mean());
    let width = |i: usize| -> u8 {
        let (low, high) = means().fold((255, 0), |(l, h), m| (m[i].min(l), m[i].max(h)));
        high.saturating_sub(low)
    };
    let widths = [width(0), width(1), width(2)];
    let channel = (0..3).max_by_key(|i| widths[*i]).unwrap_or(0);
    let count: u64 = members.iter().map(|k| all[*k].count).sum();
    (f64::from(widths[channel]) * (count as f64).powf(0.3), channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_stay_as_they_are_and_many_stay_near() {
        let few = [[0, 0, 0], [255, 255, 255], [200, 30, 10], [0, 0, 0]];
        let (palette, numbers) = reduced(&few);
        for (pixel, number) in few.iter().zip(&numbers) {
            assert_eq!(&palette[3 * usize::from(*number)..][..3], pixel);
        }
        let many: Vec<[u8; 3]> = (0..=255).flat_map(|i| (0..16).map(move |j| [i, 255 - i, 16 * j])).collect();
        let (palette, numbers) = reduced(&many);
        assert_eq!(palette.len(), 3 * COLOURS);
        for (pixel, number) in many.iter().zip(&numbers) {
            let found = &palette[3 * usize::from(*number)..][..3];
            assert!((0..3).all(|i| pixel[i].abs_diff(found[i]) <= 32), "{pixel:?} became {found:?}");
        }
    }
}

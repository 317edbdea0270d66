//! Rows in order, with little code.

use std::cmp::Ordering;

/// Stable sorts for lists that people read. The standard library's are compiled anew for every type and every order, and
/// were a quarter of all code in `analyse`; here one sort moves numbers, whatever they stand for. What is sorted event by
/// event keeps the standard ones, which compare without a call.
pub trait Order {
    type Item;

    /// Sorts by an order of pairs; equals stay as they were.
    fn order_by(&mut self, compare: impl Fn(&Self::Item, &Self::Item) -> Ordering);

    /// Sorts by a key.
    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&Self::Item) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Order for [T] {
    type Item = T;

    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        let places = sorted(self.len(), &|a, b| compare(&self[a], &self[b]));
        arrange(self, places);
    }
}

/// The numbers below `count`, by an order of what they stand for.
fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

/// Puts at each place what is at the place that is named there.
fn arrange<T>(items: &mut [T], mut from: Vec<usize>) {
    for start in 0..items.len() {
        let mut place = start;
        while from[place] != start {
            let next = from[place];
            items.swap(place, next);
            from[place] = place;
            place = next;
        }
        from[place] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_sorts() {
        let mut random = 1_u64;
        for count in 0..200 {
            let mut items = Vec::new();
            for number in 0..count {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                items.push(((random >> 60) as u8, number));
            }
            let mut expected = items.clone();
            expected.sort_by_key(|item| std::cmp::Reverse(item.0));
            let mut by_key = items.clone();
            by_key.order_by_key(|item| std::cmp::Reverse(item.0));
            items.order_by(|a, b| b.0.cmp(&a.0));
            assert_eq!((&items, &by_key), (&expected, &expected));
        }
    }

    #[test]
    fn words_that_only_move() {
        let mut words: Vec<String> = ["c", "a", "b", "a"].map(str::to_owned).to_vec();
        words.order_by(|a, b| a.cmp(b));
        assert_eq!(words, ["a", "a", "b", "c"]);
        Vec::<String>::new().order_by_key(String::len);
    }
}

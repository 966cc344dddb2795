//! Groups of cells that are equal but for some factors.

use model::Cell;
use model::plan::Factor;

/// A cell at the usual level of some factors: the key of the cells that differ in
/// these alone. Those that differ in size have their series
/// ([`model::Cell::series`]) for a key.
pub fn but_for(cell: &Cell, factors: &[Factor]) -> Cell {
    let mut rest = cell.clone();
    factors.iter().for_each(|factor| factor.erase(&mut rest));
    rest
}

/// Groups items by a key, in the order in which keys first come up.
pub fn group_by<T, K: PartialEq>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let own = key(&item);
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, members)) => members.push(item),
            None => groups.push((own, vec![item])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::group_by;

    #[test]
    fn groups_and_their_members_keep_their_order() {
        let groups = group_by([3, 1, 4, 1, 5, 9, 2, 6], |number| number % 2);
        assert_eq!(groups, [(1, vec![3, 1, 1, 5, 9]), (0, vec![4, 2, 6])]);
    }
}

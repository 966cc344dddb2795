//! Cells grouped by what they share: those that are equal but for one factor.

/// Groups items by a key, in the order in which keys first come up.
///
/// The key of a cell says which factor its group may differ in: its series
/// ([`model::Cell::series`]) leaves out the size, and a cell with one factor at
/// its base leaves out that one.
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

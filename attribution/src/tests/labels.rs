//! Rules against readers who have not seen them.
//!
//! `reference/labels/<kernel>.tsv`: lines with `#` are remarks, then the columns
//! `symbol`, `caller`, `weight`, `layer`, `category`, `note`. `caller` is the
//! chain that was labelled, the function's caller first, parted by `<`. A layer
//! `-` could not be given and is not compared with the rules.
//!
//! A remark `# Training: ...` says that the list was looked at when rules or
//! conventions were settled; `# Seed: ...` that its symbols are those that
//! [`Sampled::draw`] draws from the list of the same name in `symbols-sampled`.

use crate::tests::sampled::{Drawn, Sampled, files};
use crate::{Category, Layer, Rules};

/// Agreement that the rules have to reach with a list that they were not made
/// from, in each of layer and category.
const BAR: f64 = 0.90;

/// The same with the list of 5.10, whose reader had no guide: its layers of page
/// allocator, skb allocation and file descriptors are other conventions.
const TRAINING_BAR: [f64; 2] = [0.80, 0.95];

/// Symbols of each list at least.
const LEAST: usize = 60;

struct Label {
    chain: Vec<String>,
    weight: f64,
    layer: Option<Layer>,
    category: Category,
}

fn label(line: &str) -> Result<Label, String> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [symbol, caller, weight, layer, category, ..] = columns[..] else { return Err(format!("{} columns instead of 5", columns.len())) };
    let weight = weight.parse::<f64>().ok().filter(|weight| *weight > 0.0).ok_or_else(|| format!("the weight '{weight}'"))?;
    let wrong = |error: model::UnknownChoice| error.to_string();
    let layer = if layer == "-" { None } else { Some(layer.parse().map_err(wrong)?) };
    // People write "operating system".
    let category = category.replace(' ', "-").parse().map_err(wrong)?;
    let callers = caller.split('<').map(str::trim).filter(|name| !name.is_empty());
    Ok(Label { chain: std::iter::once(symbol).chain(callers).map(str::to_owned).collect(), weight, layer, category })
}

fn judged(rules: &Rules, label: &Label) -> crate::Attributes {
    rules.classify(&label.chain.iter().map(String::as_str).collect::<Vec<_>>(), false)
}

/// Whether the rules agree with a label, in layer and in category.
fn agree(rules: &Rules, label: &Label) -> [Option<bool>; 2] {
    let found = judged(rules, label);
    [label.layer.map(|layer| found.layer == layer), Some(found.category == label.category)]
}

/// A list of labels.
struct List {
    name: String,
    labels: Vec<Label>,
    training: bool,
    seed: Option<u64>,
}

fn lists() -> Vec<List> {
    let list = |(name, text): (String, String)| {
        let remark = |key: &str| text.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(key));
        let seed = remark("Seed: ").map(|rest| rest.split_whitespace().next().unwrap().parse().unwrap());
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert!(lines.next().is_some_and(|head| head.starts_with("symbol\tcaller\tweight\tlayer\tcategory")), "{name}: its first line");
        let labels = lines.map(|line| label(line).unwrap_or_else(|why| panic!("{name}: {line}: {why}"))).collect();
        List { labels, training: remark("Training: ").is_some(), seed, name }
    };
    files("labels").into_iter().map(list).collect()
}

/// The shares of a list's labels with which the rules agree, in layer and in
/// category; what they do not agree with is printed.
fn agreement(rules: &Rules, list: &List) -> [f64; 2] {
    for label in list.labels.iter().filter(|label| agree(rules, label).contains(&Some(false))) {
        let (found, said) = (judged(rules, label), label.layer.map_or("-", Layer::name));
        let chain = label.chain.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(" < ");
        eprintln!("  {chain}: reader {said}, {}; rules {}, {}", label.category, found.layer, found.category);
    }
    let shares = [0, 1].map(|axis| {
        let given: Vec<bool> = list.labels.iter().filter_map(|label| agree(rules, label)[axis]).collect();
        // Up to five chains may show no layer.
        assert!(given.len() + 5 * (1 - axis) >= LEAST, "{}: {} labels are too few", list.name, given.len());
        given.iter().filter(|agrees| **agrees).count() as f64 / given.len() as f64
    });
    let [layer, category] = shares.map(|share| share * 100.0);
    eprintln!("{}: {} symbols, agreement in layer {layer:.1} %, in category {category:.1} %", list.name, list.labels.len());
    shares
}

#[test]
fn the_list_that_conventions_were_settled_by_agrees() {
    let rules = Rules::builtin().unwrap();
    for list in lists().iter().filter(|list| list.training) {
        let shares = agreement(&rules, list);
        assert!(shares.iter().zip(TRAINING_BAR).all(|(share, bar)| *share >= bar), "{}", list.name);
    }
}

#[test]
fn a_second_reader_agrees() {
    let (rules, lists) = (Rules::builtin().unwrap(), lists());
    assert!(lists.iter().any(|list| !list.training), "there is no list of labels that the rules were not made from");
    for list in lists.iter().filter(|list| !list.training) {
        assert!(agreement(&rules, list).iter().all(|share| *share >= BAR), "{}", list.name);
    }
}

#[test]
fn labelled_symbols_are_those_that_the_seed_draws() {
    let sampled = Sampled::all();
    let lists = lists();
    assert!(lists.iter().any(|list| list.seed.is_some()), "no list tells its seed");
    for (list, seed) in lists.iter().filter_map(|list| Some((list, list.seed?))) {
        let source = sampled.iter().find(|sampled| sampled.name == list.name).unwrap();
        let drawn: Vec<Drawn> = source.draw(seed, list.labels.len()).into_values().collect();
        let mut labelled: Vec<Drawn> =
            list.labels.iter().map(|label| Drawn { chain: label.chain.clone(), samples: label.weight as u64 }).collect();
        labelled.sort_by(|a, b| a.chain[0].cmp(&b.chain[0]));
        assert_eq!(labelled, drawn, "{}", list.name);
    }
}

#[test]
fn labels_are_read_and_held_against_rules() {
    let rules = Rules::parse(
        "rule a\n match tcp_*\n layer tcp\n category protocol\nrule b\n match kfree\n layer caller\n category buffer-management\n",
    )
    .unwrap();
    let agreed = |line: &str| agree(&rules, &label(line).unwrap());
    assert_eq!(agreed("tcp_ack\ttcp_rcv<x\t3\ttcp\tprotocol\t"), [Some(true), Some(true)]);
    assert_eq!(agreed("kfree\ttcp_ack\t3\ttcp\toperating system\tunsure"), [Some(true), Some(false)]);
    assert_eq!(agreed("kfree\t\t3\t-\tbuffer management"), [None, Some(true)]);
    assert_eq!(agreed("tcp_ack\t\t3\tudp\tother"), [Some(false), Some(false)]);
    for wrong in ["", "tcp_ack\t\t3\ttcp", "tcp_ack\t\tx\ttcp\tprotocol", "tcp_ack\t\t3\ttransport\tprotocol", "tcp_ack\t\t3\ttcp\twork"] {
        assert!(label(wrong).is_err(), "{wrong}");
    }
}

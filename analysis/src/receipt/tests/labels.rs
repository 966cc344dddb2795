//! Rules against a reader who has not seen them.
//!
//! `reference/labels/<kernel>.tsv`: lines with `#` are remarks, then the columns
//! `symbol`, `caller`, `weight`, `layer`, `category`, `note`. `caller` is the
//! chain that was labelled, the function's caller first, parted by `<`. A layer
//! `-` could not be given and is not held against the rules.

use std::path::Path;

use crate::receipt::{Category, Layer, Rules};

/// Agreement that the rules have to reach, in each of layer and category.
const BAR: f64 = 0.90;

/// Symbols of each list at least.
const LEAST: usize = 60;

struct Label {
    chain: Vec<String>,
    layer: Option<Layer>,
    category: Category,
}

fn label(line: &str) -> Result<Label, String> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [symbol, caller, weight, layer, category, ..] = columns[..] else { return Err(format!("{} columns instead of 5", columns.len())) };
    weight.parse::<f64>().ok().filter(|weight| *weight > 0.0).ok_or_else(|| format!("the weight '{weight}'"))?;
    let wrong = |error: model::UnknownChoice| error.to_string();
    let layer = if layer == "-" { None } else { Some(layer.parse().map_err(wrong)?) };
    // People write "operating system".
    let category = category.replace(' ', "-").parse().map_err(wrong)?;
    let callers = caller.split('<').map(str::trim).filter(|name| !name.is_empty());
    Ok(Label { chain: std::iter::once(symbol).chain(callers).map(str::to_owned).collect(), layer, category })
}

fn judged(rules: &Rules, label: &Label) -> crate::receipt::Attributes {
    rules.classify(&label.chain.iter().map(String::as_str).collect::<Vec<_>>(), false)
}

/// Whether the rules agree with a label, in layer and in category.
fn agree(rules: &Rules, label: &Label) -> [Option<bool>; 2] {
    let found = judged(rules, label);
    [label.layer.map(|layer| found.layer == layer), Some(found.category == label.category)]
}

#[test]
#[ignore = "not met yet: 80 % in layer and 82 % in category of the 90 % asked for; needs settled definitions and labels of another kernel"]
fn a_second_reader_agrees() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference/labels");
    let mut files: Vec<_> = std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "tsv"));
    files.sort();
    assert!(!files.is_empty(), "there is no list of labels in reference/labels; docs/receipt.md says what it is to hold");
    let rules = Rules::builtin().unwrap();
    for file in files {
        let (text, name) = (std::fs::read_to_string(&file).unwrap(), file.file_name().unwrap().to_string_lossy().into_owned());
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert!(lines.next().is_some_and(|head| head.starts_with("symbol\tcaller\tweight\tlayer\tcategory")), "{name}: its first line");
        let labels: Vec<Label> = lines.map(|line| label(line).unwrap_or_else(|why| panic!("{name}: {line}: {why}"))).collect();
        for label in labels.iter().filter(|label| agree(&rules, label).contains(&Some(false))) {
            let found = judged(&rules, label);
            eprintln!(
                "  {}: reader {:?}, {}; rules {}, {}",
                label.chain.join(" < "),
                label.layer,
                label.category,
                found.layer,
                found.category
            );
        }
        let [layer, category] = [0, 1].map(|axis| {
            let given: Vec<bool> = labels.iter().filter_map(|label| agree(&rules, label)[axis]).collect();
            assert!(given.len() >= LEAST, "{name}: {} labels are fewer than {LEAST}", given.len());
            given.iter().filter(|agrees| **agrees).count() as f64 / given.len() as f64
        });
        eprintln!("{name}: {} symbols, agreement in layer {:.1} %, in category {:.1} %", labels.len(), layer * 100.0, category * 100.0);
        assert!(layer >= BAR && category >= BAR, "{name}");
    }
}

#[test]
fn labels_are_read_and_held_against_rules() {
    let rules = Rules::parse(
        "rule a\n match tcp_*\n layer tcp\n category protocol\nrule b\n match kfree\n layer caller\n category buffer-management\n",
    )
    .unwrap();
    let agreement = |line: &str| agree(&rules, &label(line).unwrap());
    assert_eq!(agreement("tcp_ack\ttcp_rcv<x\t3\ttcp\tprotocol\t"), [Some(true), Some(true)]);
    assert_eq!(agreement("kfree\ttcp_ack\t3\ttcp\toperating system\tunsure"), [Some(true), Some(false)]);
    assert_eq!(agreement("kfree\t\t3\t-\tbuffer management"), [None, Some(true)]);
    assert_eq!(agreement("tcp_ack\t\t3\tudp\tother"), [Some(false), Some(false)]);
    for wrong in ["", "tcp_ack\t\t3\ttcp", "tcp_ack\t\tx\ttcp\tprotocol", "tcp_ack\t\t3\ttransport\tprotocol", "tcp_ack\t\t3\ttcp\twork"] {
        assert!(label(wrong).is_err(), "{wrong}");
    }
}

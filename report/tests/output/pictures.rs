//! Pictures of each kind of page, compared with those that are kept in `pictures`.
//!
//! A screenshot differs between machines with every font: its letters, and the height of each
//! paragraph. What is kept is therefore no screenshot but a sheet of small pictures, one of each chart and
//! card, in which text is invisible and each piece is scaled by itself. A paragraph that takes a line more
//! on another machine moves nothing; a chart without its marks, a colour that is gone or a card that is
//! missing shows. Two sheets may differ in a small part of a picture.
//!
//! `NETTOLL_UPDATE_EXPECTED=1` keeps the pictures as they are now.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use report::receipt::Flames;
use serde_json::json;

use crate::browser::{NARROW, WIDE, assert_quiet, pictures, place};
use crate::chromium::{Browser, Page, Screen, present};
use crate::support::{self, buffers, receipts, studies};

/// Set where pages were changed on purpose.
const UPDATE: &str = "NETTOLL_UPDATE_EXPECTED";

/// Pixels of a picture on a sheet, and how many stand in a row.
const TILE: [usize; 2] = [72, 48];
const IN_A_ROW: usize = 6;
/// Pieces of a page that are looked at.
const MOST_PIECES: usize = 30;
/// Pages are taken so much smaller.
const SCALE: f64 = 0.4;
/// A block of 4 by 4 pixels differs where one of its colours does by more, of 255.
const LEAST_STEP: u32 = 28;
/// Share of the blocks of a picture that may differ.
const MOST_BLOCKS: f64 = 0.06;

/// Makes text invisible where it stands and gives the places of the pieces, without those within another.
const PIECES: &str = "(() => {
    const style = document.createElement('style');
    style.textContent = '*, ::placeholder, ::marker { color: transparent !important; text-decoration: none !important } svg text { fill: transparent !important }';
    document.querySelectorAll('details.fold').forEach(fold => { fold.open = true; });
    document.head.append(style);
    const all = [...document.querySelectorAll('header, .callout, .headlines, .plot, .scroll:has(svg), .prose, .findings')].filter(one => one.getClientRects().length > 0);
    return all.filter(one => !all.some(other => other !== one && other.contains(one))).map(one => one.getBoundingClientRect())
        .filter(box => box.width > 1 && box.height > 1).map(box => [box.x, box.y + scrollY, box.width, box.height]);
})()";

/// The sheet of a page, in base 64.
fn sheet(page: &mut Page) -> String {
    let pieces = page.evaluate(PIECES);
    page.settle();
    let whole = page.picture(SCALE);
    let drawn = format!(
        "(async () => {{
            const [pieces, [width, height], row] = [{pieces}.slice(0, {MOST_PIECES}), {}, {IN_A_ROW}];
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [width * Math.min(row, pieces.length), height * Math.ceil(pieces.length / row)];
            const context = canvas.getContext('2d');
            context.imageSmoothingQuality = 'high';
            const image = new Image();
            image.src = 'data:image/png;base64,{whole}';
            await image.decode();
            pieces.forEach((piece, place) => {{
                const from = piece.map((at) => at * {SCALE});
                context.drawImage(image, ...from, place % row * width, Math.floor(place / row) * height, width, height);
            }});
            return canvas.toDataURL('image/png').split(',')[1];
        }})()",
        json!(TILE),
    );
    page.evaluate(&drawn).as_str().unwrap().to_owned()
}

/// Size and pixels of a sheet, by rows, red, green, blue and opacity.
fn pixels(page: &mut Page, sheet: &str) -> ([usize; 2], Vec<u8>) {
    let read = format!(
        "(async () => {{
            const image = new Image();
            image.src = 'data:image/png;base64,{sheet}';
            await image.decode();
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.width, image.height];
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            return [[image.width, image.height], [...context.getImageData(0, 0, image.width, image.height).data]];
        }})()"
    );
    serde_json::from_value(page.evaluate(&read)).unwrap()
}

/// Pictures that differ: their places on the sheet, each with the share of its blocks that do.
fn different(([width, height], then): &([usize; 2], Vec<u8>), (size, now): &([usize; 2], Vec<u8>)) -> Result<Vec<(usize, f64)>, String> {
    if size != &[*width, *height] {
        return Err(format!("the sheet is {size:?} pixels large, was {:?}: pieces came or went", [width, height]));
    }
    let block = |pixels: &[u8], x: usize, y: usize, colour: usize| -> u32 {
        let of = |at: usize| u32::from(pixels[4 * ((y + at / 4) * width + x + at % 4) + colour]);
        (0..16).map(of).sum::<u32>() / 16
    };
    let differs = |x: usize, y: usize| (0..3).any(|colour| block(then, x, y, colour).abs_diff(block(now, x, y, colour)) > LEAST_STEP);
    let share = |left: usize, top: usize| {
        let blocks = (0..TILE[1] / 4).flat_map(|down| (0..TILE[0] / 4).map(move |right| (left + 4 * right, top + 4 * down)));
        blocks.filter(|(x, y)| differs(*x, *y)).count() as f64 / (TILE[0] * TILE[1] / 16) as f64
    };
    let tiles = (0..height / TILE[1]).flat_map(|down| (0..width / TILE[0]).map(move |right| (right, down)));
    let shares = tiles.map(|(right, down)| (down * (width / TILE[0]) + right, share(right * TILE[0], down * TILE[1])));
    Ok(shares.filter(|(_, share)| *share > MOST_BLOCKS).collect())
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/output/pictures/{name}.png"))
}

/// Compares a page with its kept sheet. Returns what is wrong.
fn compared(page: &mut Page, name: &str) -> Option<String> {
    let (path, sheet) = (kept(name), sheet(page));
    assert_quiet(page);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let same =
            std::fs::read(&path).is_ok_and(|then| different(&pixels(page, &STANDARD.encode(then)), &pixels(page, &sheet)) == Ok(vec![]));
        if !same {
            std::fs::write(&path, STANDARD.decode(sheet).unwrap()).unwrap();
        }
        return None;
    }
    let found = match std::fs::read(&path) {
        Err(failure) => format!("{}: {failure}", path.display()),
        Ok(then) => match different(&pixels(page, &STANDARD.encode(then)), &pixels(page, &sheet)) {
            Ok(all) if all.is_empty() => return None,
            Ok(all) => all
                .iter()
                .map(|(place, share)| format!("picture {} differs in {:.0} % of its blocks", place + 1, share * 100.0))
                .collect::<Vec<_>>()
                .join(", "),
            Err(reason) => reason,
        },
    };
    let new = pictures().join(format!("sheet-{name}.png"));
    std::fs::write(&new, STANDARD.decode(sheet).unwrap()).unwrap();
    Some(format!("{name}: {found}; it is {} now, was {}", new.display(), path.display()))
}

/// Each kind of page.
pub fn pages() -> Vec<(&'static str, String)> {
    use literature::{Study, analyse};
    let (red, flames): (_, Flames) = receipts::red();
    let levels = studies::host_load(&studies::few_levels(), &[1, 16_384], &[1]);
    vec![
        ("sizes", report::html::render(&support::sample())),
        ("receipts", report::html::render_with(&red, &flames)),
        ("arms", report::html::render(&crate::verdicts::arms())),
        ("runs", report::html::document(&report::verdict::document(&crate::verdicts::between()), "0.1.0")),
        ("buffers", report::html::render(&buffers::buffers())),
        ("ways", report::html::render(&studies::ways())),
        ("levels", report::html::render(&levels)),
        ("repetitions", report::html::render(&studies::repetitions())),
        ("latency", report::html::render(&studies::latency())),
        ("fleet", report::html::render(&studies::fleet(true))),
        ("attach", report::html::document(&report::attached::document(&support::attached::server(8, 1.0), &[]), "0.1.0")),
        ("microscope", crate::microscope::side_by_side()),
        ("microscope-diff", crate::microscope::changes()),
        ("reference", report::html::document(&report::reference::document(&analyse(Study::Bidulock2007, 60).unwrap()), "0.1.0")),
    ]
}

#[test]
fn pages_look_as_they_did() {
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let path = place(&format!("look-{name}.html"));
        std::fs::write(&path, text).unwrap();
        let mut look = |name: String, screen: Screen| wrong.extend(compared(&mut browser.open(&path, screen), &name));
        look(name.to_owned(), WIDE);
        if ["sizes", "receipts", "microscope-diff"].contains(&name) {
            look(format!("{name}-narrow-dark"), Screen { dark: true, ..NARROW });
        }
    }
    assert!(wrong.is_empty(), "{}\n{UPDATE}=1 keeps the pages as they are", wrong.join("\n"));
}

#[test]
fn a_sheet_tells_what_differs() {
    let sheet = |colour: [u8; 4]| {
        let mut pixels = [200, 200, 200, 255].repeat(2 * TILE[0] * TILE[1]);
        // A quarter of the second picture.
        for y in 0..TILE[1] / 2 {
            for x in TILE[0]..TILE[0] * 3 / 2 {
                pixels[4 * (y * 2 * TILE[0] + x)..][..4].copy_from_slice(&colour);
            }
        }
        ([2 * TILE[0], TILE[1]], pixels)
    };
    let plain = sheet([200, 200, 200, 255]);
    assert_eq!(different(&plain, &sheet([210, 190, 200, 255])), Ok(Vec::new()), "a shade");
    assert_eq!(different(&plain, &sheet([200, 100, 200, 255])), Ok(vec![(1, 0.25)]));
    assert!(different(&plain, &([TILE[0], TILE[1]], Vec::new())).is_err());
}

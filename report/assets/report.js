// What a reader does with the page: figures of a mark at the pointer or the keyboard, axes
// switched, charts and data saved. Everything is drawn without it.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const visible = (element) => element.getClientRects().length > 0;
  const drawing = (plot) => [...plot.querySelectorAll("svg")].find(visible);
  const marks = (plot) => [...plot.querySelectorAll(".mark[data-tip]")].filter(visible);

  // ---- figures of a mark

  // Titles become tips of our own, which come at once and take the keyboard.
  for (const title of document.querySelectorAll(".plot .mark > title")) {
    const { name } = title.closest("[data-name]")?.dataset ?? {};
    if (title.textContent) title.parentElement.dataset.tip = (name ? `${name} · ` : "") + title.textContent;
    title.remove();
  }
  document.querySelectorAll(".plot > svg > title").forEach((title) => title.remove());

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  const said = document.createElement("div");
  said.className = "hidden";
  said.setAttribute("aria-live", "polite");
  document.body.append(tip, said);
  let now = null;

  function show(mark) {
    if (mark === now) return;
    now?.classList.remove("now");
    now = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("now");
    tip.replaceChildren(...mark.dataset.tip.split("\n").map((line) => {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      return paragraph;
    }));
    const at = mark.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const left = Math.min(Math.max(8, at.x + at.width / 2 - tip.offsetWidth / 2), wide - tip.offsetWidth - 8);
    const above = at.y - tip.offsetHeight - 10;
    tip.style.transform = `translate(${left + scrollX}px, ${(above > 4 ? above : at.bottom + 10) + scrollY}px)`;
  }

  const middle = (mark) => {
    const at = mark.getBoundingClientRect();
    return [at.x + at.width / 2, at.y + at.height / 2];
  };

  // The part below the pointer, or the mark next to it.
  function nearest(plot, x, y) {
    const below = document.elementFromPoint(x, y)?.closest?.(".mark[data-tip]");
    if (below && plot.contains(below)) return below;
    let [best, far] = [null, 26];
    for (const mark of marks(plot)) {
      if (mark.matches(".part")) continue;
      const [a, b] = middle(mark);
      const distance = Math.hypot(a - x, b - y);
      if (distance < far) [best, far] = [mark, distance];
    }
    return best;
  }

  for (const kind of ["pointermove", "pointerdown"]) {
    document.addEventListener(kind, (event) => {
      const plot = event.target.closest?.(".plot");
      show(plot ? nearest(plot, event.clientX, event.clientY) : null);
    });
  }

  // Left and right within a series, up and down to the next one.
  function step(plot, key) {
    const all = marks(plot);
    if (!all.length) return;
    const series = (mark) => mark.closest("[data-series]");
    const place = all.indexOf(now);
    if (place < 0) return show(all.find((mark) => mark.matches(".whole")) ?? all[0]);
    if (key === "Home" || key === "End") {
      const own = all.filter((mark) => series(mark) === series(now));
      return show(own.at(key === "Home" ? 0 : -1));
    }
    if (key === "ArrowLeft" || key === "ArrowRight") {
      return show(all[Math.min(Math.max(0, place + (key === "ArrowLeft" ? -1 : 1)), all.length - 1)]);
    }
    const groups = [...new Set(all.map(series))];
    const next = groups[groups.indexOf(series(now)) + (key === "ArrowDown" ? 1 : -1)];
    const [x] = middle(now);
    const near = all.filter((mark) => series(mark) === next).sort((a, b) => Math.abs(middle(a)[0] - x) - Math.abs(middle(b)[0] - x));
    if (near.length) show(near[0]);
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return show(null);
    const plot = event.target.closest?.(".plot");
    if (!plot || !/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    step(plot, event.key);
    said.textContent = now?.dataset.tip ?? "";
  });
  document.addEventListener("focusout", (event) => event.target.closest?.(".plot") && show(null));

  // ---- what is shown

  const press = (buttons, pressed) => buttons.forEach((button) => button.setAttribute("aria-pressed", String(pressed(button))));

  function switchAxis({ dataset: { chart, axis }, parentElement }) {
    for (const one of document.querySelectorAll(`#chart-${chart} > svg[data-axis]`)) one.classList.toggle("off", one.dataset.axis !== axis);
    press([...parentElement.children], (button) => button.dataset.axis === axis);
    show(null);
  }

  // ---- what is saved

  function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // JSON, packed by gzip, as base64.
  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  async function saveData(kind) {
    const held = await unpacked(kind === "csv" ? "csv" : "analysis");
    const text = kind === "csv" ? held : JSON.stringify(held, null, 2);
    save(new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }), `nettoll.${kind}`);
  }

  // A picture stands alone: every style becomes an attribute, title and legend come along.
  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "paint-order",
    "font-size", "font-weight", "font-family", "text-anchor"];
  function alone(svg) {
    const copy = svg.cloneNode(true);
    const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    from.forEach((element, place) => {
      const style = getComputedStyle(element);
      const out = to[place];
      const parent = element === svg ? null : getComputedStyle(element.parentElement);
      for (const name of STYLES) {
        const value = style.getPropertyValue(name);
        if (value && (!parent || value !== parent.getPropertyValue(name) || name === "opacity" && value !== "1")) out.setAttribute(name, value);
      }
      if (element.dataset.tip) {
        const title = document.createElementNS(SVG, "title");
        title.textContent = element.dataset.tip;
        out.append(title);
      }
      for (const name of ["class", "style", "tabindex", "data-tip", "data-series"]) out.removeAttribute(name);
    });
    const box = (svg.dataset.alone ?? svg.getAttribute("viewBox")).split(" ").map(Number);
    const paper = document.createElementNS(SVG, "rect");
    const sides = { x: box[0], y: box[1], width: box[2], height: box[3], fill: getComputedStyle(svg).getPropertyValue("--card").trim() || "#fff" };
    for (const [name, value] of Object.entries(sides)) paper.setAttribute(name, value);
    copy.prepend(paper);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("viewBox", box.join(" "));
    copy.setAttribute("width", box[2]);
    copy.setAttribute("height", box[3]);
    return { text: new XMLSerializer().serializeToString(copy), width: box[2], height: box[3] };
  }

  function picture({ dataset: { picture: id, kind } }) {
    const { text, width, height } = alone(drawing(document.getElementById(`chart-${id}`)));
    const blob = new Blob([text], { type: "image/svg+xml" });
    if (kind === "SVG") return save(blob, `nettoll-${id}.svg`);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      const scale = 2;
      [canvas.width, canvas.height] = [width * scale, height * scale];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(image.src);
      canvas.toBlob((png) => save(png, `nettoll-${id}.png`));
    };
    image.src = URL.createObjectURL(blob);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.axis) switchAxis(button);
    else if (button?.dataset.picture) picture(button);
    else if (button?.dataset.save) saveData(button.dataset.save);
  });

  // ---- what is folded

  // A link into a fold opens it.
  function unfold() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();

  // ---- paper

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

  // ---- claims by paper and by outcome

  document.querySelectorAll("table.filtered").forEach((table) => {
    const bodies = [...table.tBodies];
    const rows = bodies.flatMap((body) => [...body.rows].filter((row) => !row.classList.contains("group")));
    // Then, and today where runs are.
    const columns = bodies[0].rows[0].cells[0].colSpan > 5 ? [["outcomes then", 2], ["outcomes today", 4]] : [["outcomes", 2]];
    const outcome = (row, column) => row.cells[column].firstChild.textContent;
    const choice = (label, names) => {
      const box = document.createElement("select");
      box.setAttribute("aria-label", label);
      [`All ${label}`, ...names].forEach((name) => box.append(new Option(name)));
      return box;
    };
    const papers = choice("papers", bodies.map((body) => body.rows[0].textContent));
    const outcomes = columns.map(([label, column]) => [choice(label, [...new Set(rows.map((row) => outcome(row, column)))]), column]);
    const show = () => {
      bodies.forEach((body, place) => { body.hidden = papers.selectedIndex > 0 && papers.selectedIndex !== place + 1; });
      rows.forEach((row) => { row.hidden = outcomes.some(([box, column]) => box.selectedIndex > 0 && outcome(row, column) !== box.value); });
    };
    const boxes = [papers, ...outcomes.map(([box]) => box)];
    boxes.forEach((box) => box.addEventListener("change", show));
    table.parentElement.before(...boxes.flatMap((box) => [box, " "]));
  });
})();

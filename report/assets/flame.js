// Flame graphs: a click makes a function as wide as the graph, a word finds functions and says how much
// of the time is theirs.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 1200;
  const LETTER = 7.3;
  const number = (element, name) => Number(element.getAttribute(name));

  // Every bar with the place that it was drawn at.
  const graphs = new Map();
  function barsOf(svg) {
    if (!graphs.has(svg)) {
      graphs.set(svg, [...svg.querySelectorAll("g.mark")].map((group) => {
        const rect = group.querySelector("rect");
        const name = (group.dataset.tip ?? "").split("\n")[0];
        return { group, rect, name, x: number(rect, "x"), y: number(rect, "y"), width: number(rect, "width") };
      }));
    }
    return graphs.get(svg);
  }

  function place(bar, x, width) {
    const { group, rect, name } = bar;
    const shown = width > 0.1;
    group.classList.toggle("off", !shown);
    if (!shown) return;
    rect.setAttribute("x", x.toFixed(2));
    rect.setAttribute("width", width.toFixed(2));
    const room = Math.floor((width - 6) / LETTER);
    let text = group.querySelector("text");
    if (room < 3) return text?.remove();
    if (!text) {
      text = document.createElementNS(SVG, "text");
      text.setAttribute("y", bar.y + 12);
      group.append(text);
    }
    text.setAttribute("x", (x + 3).toFixed(1));
    text.textContent = name.length <= room ? name : `${name.slice(0, room - 1)}…`;
  }

  // Callers keep the whole width; what is not below the function goes.
  function zoom(svg, target) {
    const bars = barsOf(svg);
    const [left, width] = target ? [target.x, target.width] : [0, WIDTH];
    for (const bar of bars) {
      const from = Math.max(bar.x, left);
      const to = Math.min(bar.x + bar.width, left + width);
      const above = !target || bar.y <= target.y || bar.x <= left + 0.02 && bar.x + bar.width >= left + width - 0.02;
      place(bar, (from - left) / width * WIDTH, above ? Math.max(0, to - from) / width * WIDTH : 0);
      bar.group.classList.toggle("caller", Boolean(target) && bar.y > target.y);
    }
  }

  document.addEventListener("click", (event) => {
    const svg = event.target.closest?.("svg.flame");
    if (!svg) return;
    const group = event.target.closest("g.mark");
    zoom(svg, barsOf(svg).find((bar) => bar.group === group && !group.classList.contains("caller")) ?? null);
  });
  document.addEventListener("keydown", (event) => {
    const svg = [...event.target.closest?.(".plot")?.querySelectorAll("svg.flame") ?? []].find((one) => one.getClientRects().length);
    if (!svg) return;
    if (event.key === "Escape") zoom(svg, null);
    if (event.key === "Enter") zoom(svg, barsOf(svg).find((bar) => bar.group.classList.contains("now")) ?? null);
  });

  function search(input) {
    const word = input.value.trim().toLowerCase();
    for (const svg of document.querySelectorAll(`#chart-${input.dataset.flame} svg.flame`)) {
      // A function found within another one is the other's time already.
      let found = 0;
      const counted = [];
      for (const bar of barsOf(svg)) {
        const hit = word !== "" && bar.name.toLowerCase().includes(word);
        bar.group.classList.toggle("faded", word !== "" && !hit);
        if (!hit) continue;
        if (!counted.some((other) => bar.x >= other.x - 0.01 && bar.x + bar.width <= other.x + other.width + 0.01 && bar.y < other.y)) {
          found += bar.width;
          counted.push(bar);
        }
      }
      if (svg.getClientRects().length) {
        input.nextElementSibling.textContent = word === "" ? "" : `${(found / WIDTH * 100).toFixed(1)} % of the samples`;
      }
    }
  }
  document.addEventListener("input", (event) => event.target.dataset?.flame && search(event.target));
})();

"use strict";
// The page is whole without this script: it only adds sorting, filtering, export, other groups and colours, and a slider.

(() => {
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const labelled = (text, control) => element("label", {}, `${text} `, control);

  // Quantities, percentages and times are sorted by their size.
  const FACTORS = {
    m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50,
    s: 1, min: 60, h: 3600, d: 86400, day: 86400, days: 86400, ms: 1e-3,
  };
  const size = (text) => {
    const found = /^[-+]?[\d,]*\.?\d+/.exec(text);
    if (!found) return null;
    const unit = /^\s?([A-Za-z]+)/.exec(text.slice(found[0].length));
    return Number(found[0].replaceAll(",", "")) * ((unit && FACTORS[unit[1]]) || 1);
  };
  const compare = (a, b) => {
    if (a.size !== null && b.size !== null && a.size !== b.size) return a.size - b.size;
    if ((a.size === null) !== (b.size === null)) return a.size === null ? 1 : -1;
    return a.key.localeCompare(b.key, "en", { numeric: true });
  };

  // A row whose first cell is empty continues the row before it: both are moved and filtered together.
  const blocks = (rows) => {
    const made = [];
    for (const row of rows) {
      if (made.length && !row.cells[0].textContent.trim()) made.at(-1).push(row);
      else made.push([row]);
    }
    return made;
  };

  // The text of a cell, also of one that is not shown now.
  const lines = (cell, separator) =>
    cell.querySelector(".strip")?.ariaLabel ??
    [...cell.childNodes].map((node) => (node.nodeName === "BR" ? separator : node.textContent)).join("").trim();

  // What a spreadsheet would run as a formula is quoted.
  const quoted = (text) => `"${(/^[=+@\t]|^-\D/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const csv = (rows) => rows.map((row) => [...row.cells].map((cell) => quoted(lines(cell, "; "))).join(",")).join("\r\n");

  const choice = (texts, chosen) => {
    const made = element("select", {}, ...texts.map((text, i) => element("option", { value: i, textContent: text })));
    made.addEventListener("change", () => chosen(Number(made.value)));
    return made;
  };

  // A browser takes long to lay more rows out. The others are shown on demand, and always saved and printed.
  const MOST = 250;

  // What is done before a table is printed; tables that are no longer on the page are forgotten.
  const printed = new WeakMap();

  const tools = (table) => {
    const body = table.tBodies[0];
    const head = table.tHead.rows[0];
    const total = body.rows.length;
    if (total < 2) return;
    const parts = blocks(body.rows).map((rows) => ({ rows, text: null, hit: true }));
    let most = MOST;
    const left = element("span", { role: "status" });
    const more = element("button", { type: "button", textContent: "Show all" });
    const show = () => {
      let hits = 0;
      let shown = 0;
      for (const { rows, hit } of parts) {
        const hidden = !hit || shown >= most;
        for (const row of rows) if (row.hidden !== hidden) row.hidden = hidden;
        if (hit) hits += rows.length;
        if (!hidden) shown += rows.length;
      }
      const found = hits < total ? `${hits} of ${total} rows` : `${total} rows`;
      left.textContent = shown < hits ? `${found}, the first ${shown} are shown` : hits < total ? found : "";
      more.hidden = shown === hits;
    };
    const showAll = () => {
      most = Infinity;
      show();
    };
    more.addEventListener("click", showAll);
    printed.set(table, showAll);

    const sort = (column, descending) => {
      for (const cell of head.cells) cell.ariaSort = null;
      head.cells[column].ariaSort = descending ? "descending" : "ascending";
      for (const part of parts) {
        part.key = part.rows[0].cells[column]?.textContent ?? "";
        part.size = size(part.key);
      }
      parts.sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
      const sorted = document.createDocumentFragment();
      for (const { rows } of parts) sorted.append(...rows);
      body.append(sorted);
      show();
    };
    const columns = [];
    [...head.cells].forEach((cell, column) => {
      if (!cell.textContent || cell.classList.contains("drawn")) return;
      const button = element("button", { type: "button", textContent: cell.textContent });
      columns.push([column, cell.textContent]);
      cell.replaceChildren(button);
      button.addEventListener("click", () => sort(column, cell.ariaSort === "ascending"));
    });
    // On a narrow screen the rows are cards, without the headings.
    const orders = [null, ...columns.flatMap(([column]) => [[column, false], [column, true]])];
    const names = ["as listed", ...columns.flatMap(([, text]) => [`${text} \u2191`, `${text} \u2193`])];
    const order = choice(names, (chosen) => sort(...orders[chosen]));
    order.options[0].disabled = true;

    const filter = element("input", { type: "search", autocomplete: "off", spellcheck: false });
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const part of parts) {
        part.text ??= part.rows.map((row) => row.textContent).join(" ").toLowerCase();
        part.hit = words.every((word) => part.text.includes(word));
      }
      show();
    });
    const save = element("button", { type: "button", textContent: "Save as CSV" });
    save.title = "Save the rows that the filter finds as a CSV file";
    save.addEventListener("click", () => {
      const text = csv([head, ...parts.filter(({ hit }) => hit).flatMap(({ rows }) => rows)]);
      const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      element("a", { href: address, download: "table.csv" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    const scroll = table.closest(".scroll");
    if (total > 5) {
      const sorting = labelled("Sort by", order);
      sorting.className = "sorting";
      scroll.before(element("div", { className: "controls" }, labelled("Filter", filter), sorting, left, more));
    }
    if (total > 3) scroll.after(element("div", { className: "controls" }, save));
    show();
  };

  const map = (figure) => {
    const groupings = JSON.parse(figure.dataset.groupings);
    const colourings = JSON.parse(figure.dataset.colourings);
    const classes = JSON.parse(figure.dataset.classes);
    const legends = figure.querySelectorAll(":scope > .legend");
    const cells = [...figure.querySelectorAll(".cells a")].map((link) => ({
      link, item: link.parentElement, row: document.getElementById(link.hash.slice(1)),
      kinds: link.dataset.kinds.split(" ").map(Number),
    }));
    const groups = figure.querySelector(".groups");
    const about = figure.querySelector(".about");
    let grouping = 0;
    let colouring = 0;

    const strip = (members) => {
      const counts = new Map();
      for (const cell of members) counts.set(cell.kinds[colouring], (counts.get(cell.kinds[colouring]) ?? 0) + 1);
      const names = [...legends[colouring].children].map((entry) => entry.textContent.trim());
      const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const text = [...counts].sort((a, b) => a[0] - b[0]).map(([kind, number]) => `${number} ${names[kind]}`).join(", ");
      for (const [name, value] of Object.entries({ class: "strip", width: "100%", height: 16, role: "img", "aria-label": text }))
        drawn.setAttribute(name, value);
      let x = 0;
      for (const [kind, number] of [...counts].sort((a, b) => a[0] - b[0])) {
        const width = (100 * number) / members.length;
        const piece = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        for (const [name, value] of Object.entries({ class: classes[colouring][kind], x: `${x}%`, width: `${width}%`, height: 16 }))
          piece.setAttribute(name, value);
        drawn.append(piece);
        x += width;
      }
      return drawn;
    };
    const arrange = () => {
      const open = new Set([...groups.children].filter((each) => each.open).map((each) => each.dataset.name));
      const all = [...groups.children].every((each) => each.open);
      const members = new Map();
      for (const cell of cells) {
        const name = groupings.length ? cell.row.cells[1 + grouping].textContent : "";
        if (!members.has(name)) members.set(name, []);
        members.get(name).push(cell);
      }
      const names = [...members.keys()].sort((a, b) => (a === "") - (b === "") || a.localeCompare(b, "en", { numeric: true }));
      groups.replaceChildren(
        ...names.map((name) => {
          const title = !groupings.length ? "all nodes" : name ? `${groupings[grouping]} ${name}` : `no ${groupings[grouping]}`;
          const inside = members.get(name);
          const made = element(
            "details",
            { open: all || open.has(name) },
            element("summary", {}, element("span", { className: "group", textContent: title }), " ",
              element("span", { className: "count", textContent: `${inside.length} ${inside.length === 1 ? "node" : "nodes"}` }), strip(inside)),
            element("ul", { className: "cells" }, ...inside.map((cell) => cell.item)),
          );
          made.dataset.name = name;
          return made;
        }),
      );
      for (const list of groups.querySelectorAll(".cells")) rove(list);
    };
    const colour = () => {
      for (const cell of cells) cell.link.className = classes[colouring][cell.kinds[colouring]];
      legends.forEach((legend, i) => (legend.hidden = i !== colouring));
    };
    // One stop of the tabulator key per group; the arrow keys move inside.
    const rove = (list) => {
      const links = list.querySelectorAll("a");
      links.forEach((link, i) => (link.tabIndex = i ? -1 : 0));
    };
    const move = (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
      const link = event.target.closest(".cells a");
      if (!link || !(event.key in steps)) return;
      const links = [...link.closest(".cells").querySelectorAll("a")];
      let step = steps[event.key];
      if (event.key === "ArrowDown" || event.key === "ArrowUp")
        step *= Math.max(links.filter((each) => each.offsetTop === links[0].offsetTop).length, 1);
      const next = links[links.indexOf(link) + step];
      if (!next) return;
      event.preventDefault();
      link.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    };
    const describe = (event) => {
      const link = event.target.closest?.(".cells a");
      if (!link) return;
      const row = document.getElementById(link.hash.slice(1));
      const [name, ...texts] = [...row.cells].map((cell) => lines(cell, "; "));
      const reasons = texts.pop();
      const headings = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent);
      const others = texts.map((text, i) => text && `${headings[i + 1]} ${text}`);
      about.replaceChildren(
        element("strong", { textContent: name }), ` ${[reasons, ...others].filter(Boolean).join(" · ")}`,
      );
    };
    groups.addEventListener("keydown", move);
    for (const name of ["mouseover", "focusin"]) groups.addEventListener(name, describe);
    groups.addEventListener("click", (event) => {
      if (!event.target.closest(".cells a")) return;
      event.preventDefault();
      describe(event);
    });
    const controls = figure.querySelector(".controls");
    if (groupings.length > 1)
      controls.append(labelled("Group by", choice(groupings, (chosen) => { grouping = chosen; arrange(); })));
    if (colourings.length > 1)
      controls.append(labelled("Colour by", choice(colourings, (chosen) => { colouring = chosen; colour(); arrange(); })));
    [...groups.children].forEach((each, i) => (each.dataset.name = i));
    for (const list of groups.querySelectorAll(".cells")) rove(list);
  };

  const clock = (seconds) => {
    if (seconds < 60) return `${Number(seconds.toFixed(3))} s`;
    const minutes = Math.floor(Math.round(seconds) / 60);
    return minutes < 60 ? `${minutes} min ${Math.round(seconds) % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };

  const timeline = (figure) => {
    const end = Number(figure.dataset.end) || 1;
    const kinds = JSON.parse(figure.dataset.kinds);
    const spans = [...figure.querySelectorAll(".spans li")].map((item) => ({
      item, begin: Number(item.dataset.begin), end: Number(item.dataset.end), kind: Number(item.dataset.kind),
    }));
    const times = [...new Set(spans.flatMap((span) => [span.begin, span.end]))].sort((a, b) => a - b);
    if (times.length < 2) return;
    const cursors = figure.querySelectorAll(".cursor");
    const slider = element("input", { type: "range", min: 0, max: times.length, value: times.length });
    const said = element("span", { role: "status", textContent: "all states" });
    slider.addEventListener("input", () => {
      const at = times[Number(slider.value)];
      const every = at === undefined;
      const counts = new Map();
      for (const span of spans) {
        const now = every || (span.begin <= at && (at < span.end || span.end === end || span.begin === span.end && span.begin === at));
        span.item.classList.toggle("past", !now);
        if (now) counts.set(span.kind, (counts.get(span.kind) ?? 0) + 1);
      }
      for (const cursor of cursors) {
        cursor.setAttribute("x", `${every ? 0 : (99.6 * at) / end}%`);
        cursor.classList.toggle("shown", !every);
      }
      said.textContent = every
        ? "all states"
        : `at ${clock(at)}: ${[...counts].map(([kind, number]) => `${number} ${kinds[kind]}`).join(", ")}`;
    });
    figure.querySelector(".controls").append(labelled("Time", slider), said);
  };

  const enhance = (part) => {
    part.querySelectorAll("table.data, .bars table").forEach(tools);
    part.querySelectorAll("figure.map").forEach(map);
    part.querySelectorAll("figure.timeline").forEach(timeline);
  };
  enhance(document);
  document.addEventListener("kschedctl:shown", (event) => enhance(event.target));
  addEventListener("beforeprint", () => {
    for (const table of document.querySelectorAll("table")) printed.get(table)?.();
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
})();

"use strict";
// Pages are whole without this script: it adds the age of a running cluster, the progress of jobs, and answers as you type.

(() => {
  const find = (id) => document.getElementById(id);

  // A browser opens few connections to a server, so that only the page that is looked at has a stream.
  const listen = (address, kind, changed) => {
    let stream = null;
    const update = () => {
      if (document.hidden) {
        stream?.close();
        stream = null;
      } else if (!stream) {
        stream = new EventSource(address);
        stream.addEventListener(kind, (event) => changed(JSON.parse(event.data)));
      }
    };
    document.addEventListener("visibilitychange", update);
    window.addEventListener("pagehide", () => stream?.close());
    update();
  };

  const age = find("age");
  const job = find("job");
  if (job) {
    listen(`/api/v1/jobs/${encodeURIComponent(job.dataset.id)}/events`, "job", (now) => {
      if (["done", "failed", "cancelled"].includes(now.state)) {
        location.reload();
        return;
      }
      find("job-state").textContent = now.state;
      find("job-work").textContent = now.total ? `${now.work}: ${now.done} of ${now.total}` : now.work;
      if (now.total) Object.assign(find("job-progress"), { max: now.total, value: now.done });
    });
  } else if (age?.dataset.version) {
    listen("/api/v1/events", "cluster", (now) => {
      age.textContent = now.problem ? `out of date: ${now.problem}` : `live, ${Math.round(now.age ?? 0)} s old`;
      find("reload").hidden = String(now.version) === age.dataset.version;
    });
  }

  const form = find("try");
  if (form) {
    const state = find("state");
    let timer = 0;
    let running = null;
    const send = async () => {
      running?.abort();
      const own = (running = new AbortController());
      state.textContent = "checking ...";
      try {
        const body = new URLSearchParams(new FormData(form));
        const headers = { Accept: "text/html" };
        const response = await fetch(form.action, { method: "POST", body, headers, signal: own.signal });
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        const shown = page.getElementById("answer") ?? page.getElementById("main");
        const answer = find("answer");
        answer.replaceChildren(...(shown ? shown.childNodes : [`status ${response.status}`]));
        answer.dispatchEvent(new CustomEvent("kschedctl:shown", { bubbles: true }));
        state.textContent = "";
      } catch (error) {
        if (own === running) state.textContent = error.name === "AbortError" ? "" : "the server does not respond";
      }
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send();
    });
    find("manifest").addEventListener("input", () => {
      clearTimeout(timer);
      running?.abort();
      timer = setTimeout(send, 400);
    });
  }
})();

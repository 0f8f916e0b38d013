// <file-drop>: files and whole folders are dropped on its file input, or chosen there. What they are called, with their
// folders, goes along as fields `path`, because a browser sends bare names; and it says how much that is.

class FileDrop extends HTMLElement {
  connectedCallback() {
    this.input = this.querySelector("input[type=file]");
    this.words = this.querySelector("[data-said]");
    this.folder = this.querySelector("[data-folder]");
    this.folder.hidden = false;
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("dragover", (event) => this.onOver(event), { signal });
    this.addEventListener("dragleave", () => this.classList.remove("over"), { signal });
    this.addEventListener("drop", (event) => this.onDrop(event), { signal });
    this.folder.addEventListener("click", () => this.askForFolder(), { signal });
    this.input.addEventListener("change", () => this.tell([...this.input.files].map((file) => [file, file.name])), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  askForFolder() {
    const asked = document.createElement("input");
    Object.assign(asked, { type: "file", multiple: true, webkitdirectory: true });
    asked.addEventListener("change", () => this.take([...asked.files].map((file) => [file, file.webkitRelativePath])));
    asked.click();
  }

  take(found) {
    const chosen = new DataTransfer();
    for (const [file] of found) chosen.items.add(file);
    this.input.files = chosen.files;
    this.tell(found);
  }

  onOver(event) {
    event.preventDefault();
    this.classList.add("over");
  }

  async onDrop(event) {
    event.preventDefault();
    this.classList.remove("over");
    // Asked for at once: after the first wait the browser forgets what was dropped.
    const dropped = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const entries = dropped.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
    try {
      this.take((await Promise.all(entries.map((entry) => this.inside(entry)))).flat());
    } catch (error) {
      this.say(interpolate(gettext("Not read: %s"), [error.message]), true);
    }
  }

  async inside(entry) {
    if (entry instanceof File) return [[entry, entry.name]];
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return [[file, entry.fullPath.replace(/^\//, "")]];
    }
    const reader = entry.createReader();
    const found = [];
    // It gives some hundred at a time, and none when it is through.
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return found;
      for (const inner of some) found.push(...(await this.inside(inner)));
    }
  }

  tell(found) {
    for (const old of this.querySelectorAll("input[name=path]")) old.remove();
    for (const [, path] of found) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "path", value: path });
      this.append(field);
    }
    const bytes = found.reduce((sum, [file]) => sum + file.size, 0);
    const size = { n: found.length, size: (bytes / 2 ** 20).toFixed(1) };
    const count = interpolate(ngettext("%(n)s file, %(size)s MB", "%(n)s files, %(size)s MB", found.length), size, true);
    const why = this.tooMuch(found.length, bytes);
    this.input.setCustomValidity(why);
    this.say(found.length ? `${count}${why ? `; ${why}` : ""}` : "", Boolean(why));
  }

  tooMuch(files, bytes) {
    const most = this.dataset.files;
    if (files > Number(most)) return interpolate(gettext("at most %s files at once: pack them into a zip"), [most]);
    return bytes > Number(this.dataset.most) ? gettext("too much at once") : "";
  }

  say(words, isBad) {
    this.words.textContent = words;
    this.words.classList.toggle("bad", isBad);
  }
}

customElements.define("file-drop", FileDrop);

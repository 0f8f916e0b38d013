// <file-drop>: takes files and whole folders that the user drops on its file input or selects there. Browsers send bare
// file names, so it adds hidden fields `path` with the paths. It shows the number of files and their size.

class FileDrop extends HTMLElement {
  connectedCallback() {
    this.input = this.querySelector("input[type=file]");
    this.status = this.querySelector("[data-announce-key]");
    this.folderButton = this.querySelector("[data-folder]");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("dragover", (event) => this.onOver(event), { signal });
    this.addEventListener("dragleave", () => this.classList.remove("over"), { signal });
    this.addEventListener("drop", (event) => this.onDrop(event), { signal });
    this.folderButton.addEventListener("click", () => this.pickFolder(), { signal });
    this.input.addEventListener("change", () => this.update([...this.input.files].map((file) => [file, file.name])), { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
  }

  pickFolder() {
    const input = document.createElement("input");
    Object.assign(input, { type: "file", multiple: true, webkitdirectory: true });
    input.addEventListener("change", () => this.setFiles([...input.files].map((file) => [file, file.webkitRelativePath])));
    input.click();
  }

  setFiles(files) {
    const transfer = new DataTransfer();
    for (const [file] of files) transfer.items.add(file);
    this.input.files = transfer.files;
    this.update(files);
  }

  onOver(event) {
    event.preventDefault();
    this.classList.add("over");
  }

  async onDrop(event) {
    event.preventDefault();
    this.classList.remove("over");
    // Read the entries before the first await: afterwards the browser has forgotten what was dropped.
    const dropped = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const entries = dropped.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
    try {
      this.setFiles((await Promise.all(entries.map((entry) => this.filesIn(entry)))).flat());
    } catch (error) {
      this.showStatus(interpolate(gettext("The files cannot be read: %s"), [error.message]), true);
    }
  }

  async filesIn(entry) {
    if (entry instanceof File) return [[entry, entry.name]];
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return [[file, entry.fullPath.replace(/^\//, "")]];
    }
    const reader = entry.createReader();
    const files = [];
    // The reader returns about a hundred entries per call, and none at the end.
    for (;;) {
      const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!batch.length) return files;
      for (const inner of batch) files.push(...(await this.filesIn(inner)));
    }
  }

  update(files) {
    for (const old of this.querySelectorAll("input[name=path]")) old.remove();
    for (const [, path] of files) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "path", value: path });
      this.append(field);
    }
    const bytes = files.reduce((sum, [file]) => sum + file.size, 0);
    const params = { n: files.length, size: formatBytes(bytes) };
    const count = interpolate(ngettext("%(n)s file, %(size)s", "%(n)s files, %(size)s", files.length), params, true);
    const error = this.limitError(files.length, bytes);
    this.input.setCustomValidity(error);
    this.showStatus(files.length ? `${count}${error ? `; ${error}` : ""}` : "", Boolean(error));
  }

  limitError(count, bytes) {
    const max = this.dataset.files;
    if (count > Number(max)) return interpolate(gettext("at most %s files per upload: pack them into a zip"), [max]);
    return bytes > Number(this.dataset.most) ? gettext("too large for one upload") : "";
  }

  showStatus(message, isError) {
    this.status.textContent = message;
    this.status.classList.toggle("bad", isError);
  }
}

/** Formats a number of bytes as Django's filter filesizeformat does, which formats the limits of the page. */
function formatBytes(bytes) {
  const units = ["KB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length);
  if (power === 0) return interpolate(ngettext("%s byte", "%s bytes", bytes), [bytes]);
  return `${(bytes / 1024 ** power).toFixed(1)}\u00a0${units[power - 1]}`;
}

customElements.define("file-drop", FileDrop);

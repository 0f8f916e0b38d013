// The launch form.
import "../field-problems.js";
import "../form-search.js";
import "../method-fields.js";
import "../preset-select.js";
import "../section-links.js";

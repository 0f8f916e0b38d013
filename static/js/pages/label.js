// Labels of a response.
import "../label-page.js";

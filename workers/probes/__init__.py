"""Methods that look at weights without training them."""

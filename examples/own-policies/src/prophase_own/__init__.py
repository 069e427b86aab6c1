"""An order, a place and a sizer of one's own."""

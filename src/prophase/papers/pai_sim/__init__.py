"""PAI's own simulator, repeated rule by rule."""

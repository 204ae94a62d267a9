# Typeset the written answers. GNU make 3.81 is enough; any TeX Live or MacTeX brings latexmk.
.PHONY: with_solutions without_solutions clean

with_solutions: ## the sheet with the answers of submission.tex in place
	latexmk -pdf -interaction=nonstopmode -halt-on-error -file-line-error with_solutions.tex

without_solutions: ## the sheet with space to write by hand
	latexmk -pdf -interaction=nonstopmode -halt-on-error -file-line-error sheet.tex

clean: ## remove what the two leave
	latexmk -C with_solutions.tex
	latexmk -C sheet.tex

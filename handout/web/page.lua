-- A pandoc filter: gives equations and figures their numbers in print, inserts figures and answers,
-- lists the contents, and keeps together or makes scrollable what is too wide for a phone.

local WHOLE = 30 -- code of up to so many characters stays on one line; longer code may break
local THIN = '<mspace width="0.167em"></mspace>'
local FUNCTION = '(<mrow><mi mathvariant="normal">%w+</mi><mo>&#8289;</mo></mrow>)'
local NEIGHBOURS = { mi = true, mn = true, msub = true, msup = true }
local SCRIPTED = { msub = true, msup = true, munder = true }
local OPENING = lpeg.C((lpeg.P(1) - (lpeg.P("(") + "“") * -1) ^ 0) * lpeg.C(lpeg.P(1) ^ 0)
local CLOSING = lpeg.C((lpeg.S(".,;:?!)") + "”" + "’") ^ 0) * lpeg.C(lpeg.P(1) ^ 0)
local LABEL = "\\label{(eq:[^}]+)}"

local read = pandoc.system.read_file
local page -- what web.py knows: title, intro and figures
local numbers = {} -- of equations and figures, by label

local function whole(content)
  return pandoc.Span(content, { class = "whole" })
end

local function html_of(inline)
  local options = { html_math_method = "mathml", wrap_text = "none" }
  return pandoc.write(pandoc.Pandoc({ pandoc.Plain({ inline }) }), "html", options)
end

local function count(doc)
  local equations, figures = 0, 0
  doc:walk({
    Math = function(math)
      local label = math.text:match(LABEL)
      if label then
        equations = equations + 1
        numbers[label] = equations
      end
    end,
    Figure = function(figure)
      figures = figures + 1
      numbers[figure.identifier] = figures
    end,
  })
end

-- Add TeX's thin spaces around functions: `cos i`, where pandoc gives `cosi`; not in `log_2`.
local function spaced(text)
  text = text:gsub("<(/?)(%w+)>" .. FUNCTION, function(ends, tag, name)
    local before = "<" .. ends .. tag .. ">"
    if ends == "" then
      return SCRIPTED[tag] and before .. "\0" .. name
    end
    return NEIGHBOURS[tag] and before .. THIN .. name
  end)
  text = text:gsub("(%z?)" .. FUNCTION .. "<(%w+)", function(scripted, name, tag)
    return scripted == "" and NEIGHBOURS[tag] and name .. THIN .. "<" .. tag
  end)
  return (text:gsub("%z", ""))
end

local function formula(math)
  local label = math.text:match(LABEL)
  if label then
    math.text = math.text:gsub("%s*\\end{equation}", " \\qquad (" .. numbers[label] .. ")\n%0")
  end
  local anchor = label and ' id="' .. label .. '"' or ""
  local text = spaced(html_of(math)):gsub('^<math (display="block")', '<math tabindex="0" %1' .. anchor)
  return pandoc.RawInline("html", text)
end

local function reference(link)
  local kind, label = link.attributes["reference-type"], link.attributes.reference
  if kind == "ref" or kind == "eqref" then
    local number = numbers[label] or error("the label " .. label .. " is of no equation or figure", 0)
    return pandoc.Link(kind == "eqref" and "(" .. number .. ")" or tostring(number), link.target)
  end
end

local function code(inline)
  if utf8.len(inline.text) <= WHOLE then
    return pandoc.Code(inline.text, { class = "whole" })
  end
  local text = inline.text:gsub("()([_/.])", function(place, joint)
    return inline.text:find("^[%w_-]", place + 1) and joint .. "\1"
  end)
  return pandoc.RawInline("html", (html_of(pandoc.Code(text)):gsub("\1", "<wbr>")))
end

-- A rating, `●●○`, has words for screen readers.
local function rating(text)
  local left, count = text.text:gsub("●", "")
  if count > 0 and left:gsub("○", "") == "" then
    local label = '<span role="img" aria-label="' .. count .. ' of 3">'
    return pandoc.RawInline("html", label .. text.text .. "</span>")
  end
end

-- Keep punctuation on the line of its formula, where browsers would break the line, and `4–5` whole.
local function unbroken(inlines)
  local result = pandoc.List()
  for i, inline in ipairs(inlines) do
    local before, after = result[#result], inlines[i + 1]
    local range, rest = (inline.text or ""):match("^(%d+–%d+)(.*)$")
    if inline.t == "RawInline" and inline.text:find('^<math display="inline"') then
      local opening, closing = "", ""
      if before and before.t == "Str" then
        before.text, opening = OPENING:match(before.text)
      end
      if after and after.t == "Str" then
        closing, after.text = CLOSING:match(after.text)
      end
      local alone = opening == "" and closing == ""
      result:insert(alone and inline or whole({ opening, inline, closing }))
    elseif inline.t == "Str" and range and (rest:find("^:") or (rest == "" and not after)) then
      result:extend({ whole(range), pandoc.Str(rest) })
    else
      result:insert(inline)
    end
  end
  return result
end

local function paragraph(para)
  local text = pandoc.utils.stringify(para)
  local figure, answer = text:match("^@interactive:(%w+)@$"), text:match("^ANSWERBEGINS (%S+)$")
  if figure then
    return pandoc.RawBlock("html", read(pandoc.path.join({ page.given, figure .. ".html" })))
  elseif answer then
    return pandoc.RawBlock("html", "<details>\n<summary>Answer to " .. answer .. "</summary>")
  elseif text == "ANSWERENDS" then
    return pandoc.RawBlock("html", "</details>")
  end
end

local function drawing(image)
  local figure = page.figures[image.src:match("^figures/(.+)%.svg$")]
  return pandoc.Image({}, figure.source, "", { alt = figure.alt })
end

local function captioned(figure)
  figure.caption.long[1].content:insert(1, "Figure " .. numbers[figure.identifier] .. ": ")
  return figure
end

local function scrolling(block)
  block.attributes.tabindex = "0"
  return block
end

local function scrolling_table(block)
  local attributes = { { "tabindex", "0" }, { "role", "group" }, { "aria-label", "Table" } }
  return pandoc.Div({ block }, pandoc.Attr("", { "wide" }, attributes))
end

-- Return a link of the contents without the points that end a heading: ` [2 points (Written)]`.
local function without_points(link)
  local last = link.content[#link.content]
  if last.t == "Str" and last.text:find("%]$") then
    repeat
      last = link.content:remove()
    until last.t == "Str" and last.text:find("^%[")
    link.content:remove()
  end
  return pandoc.Link(link.content, link.target)
end

function Pandoc(doc)
  page = pandoc.json.decode(read(pandoc.utils.stringify(doc.meta.page)), false)
  count(doc)
  doc = doc:walk({
    Quoted = function(quoted)
      return pandoc.Inlines("“") .. quoted.content .. pandoc.Inlines("”")
    end,
    Math = formula,
    Link = reference,
    Code = code,
    Str = rating,
    Image = drawing,
  }):walk({
    Inlines = unbroken,
    Para = paragraph,
    CodeBlock = scrolling,
    Table = scrolling_table,
    Figure = captioned,
  })
  local contents = pandoc.structure.table_of_contents(doc, { toc_depth = 2 })
  doc.meta.contents = pandoc.MetaBlocks({ contents:walk({ Link = without_points }) })
  return doc
end

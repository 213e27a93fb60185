-- What is shown as Markdown: tool calls, diffs, thoughts, the plan. Pure: lines for values, no buffer and no state.

local M = {}

local marks = {
  pending = '[ ]',
  in_progress = '[~]',
  asked = '[?]',
  completed = '[x]',
  failed = '[!]',
  interrupted = '[-]',
}

--- Lines of a running call's output that are shown.
local LIVE = 10

--- Text as lines, whichever way they end.
---@param text string
---@return string[]
function M.split(text)
  return vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
end

---@param text string
---@return string
local function one_line(text)
  return (text:gsub('%s*[\r\n]+%s*', ' '))
end

--- A fenced block whose fence the text cannot close.
---@param text string
---@param language? string
---@return string[]
function M.fence(text, language)
  local longest = 2
  for run in text:gmatch('`+') do
    longest = math.max(longest, #run)
  end
  local fence = ('`'):rep(longest + 1)
  local lines = { fence .. (language or '') }
  vim.list_extend(lines, M.split((text:gsub('\n$', ''))))
  lines[#lines + 1] = fence
  return lines
end

--- The last lines of a text.
---@param text string
---@return string
local function last_lines(text)
  local lines = M.split((text:gsub('%s+$', '')))
  return table.concat(vim.list_slice(lines, math.max(1, #lines - LIVE + 1)), '\n')
end

--- A path as people read it.
---@param path string
---@return string
function M.short(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

--- The unified diff of one file.
---@param diff { path: string, oldText: string?, newText: string }
---@return string
function M.unified(diff)
  local make = vim.text and vim.text.diff or vim.diff
  local hunks = make(diff.oldText or '', diff.newText, { ctxlen = 3 }) --[[@as string]]
  local name = M.short(diff.path)
  return ('--- %s\n+++ %s\n%s'):format(diff.oldText and name or '/dev/null', name, hunks)
end

--- The lines of one hunk, the old ones before the new.
---@param old string
---@param new string
---@return string[]
function M.hunk(old, new)
  local lines = {}
  for mark, text in vim.iter({ { '-', old }, { '+', new } }):map(unpack) do
    for _, line in ipairs(text ~= '' and M.split((text:gsub('\r?\n$', ''))) or {}) do
      lines[#lines + 1] = mark .. line
    end
  end
  return lines
end

--- The text of a content block of ACP; what is no text is named.
---@param content table?
---@return string
function M.text_of(content)
  if type(content) ~= 'table' then
    return ''
  end
  if content.type == 'text' then
    return content.text or ''
  end
  if content.type == 'resource_link' then
    return ('[%s](%s)'):format(content.name or content.uri, content.uri)
  end
  if content.type == 'resource' then
    return content.resource.text or ('[%s]'):format(content.resource.uri)
  end
  return ('[%s]'):format(content.type or 'content')
end

---@param lines string[]
---@param levels (integer|string)[]
---@param added string[]
---@param folded boolean
local function add(lines, levels, added, folded)
  for index, line in ipairs(added) do
    lines[#lines + 1] = line
    levels[#levels + 1] = folded and (index == 1 and '>1' or 1) or 0
  end
end

---@type table<string, fun(block: copydesk.Block, lines: string[], levels: (integer|string)[])>
local renderers = {
  heading = function(block, lines, levels)
    add(lines, levels, { block.text }, false)
  end,
  notice = function(block, lines, levels)
    add(lines, levels, { '> ' .. one_line(block.text) }, false)
  end,
  user = function(block, lines, levels)
    add(lines, levels, M.split(block.text), false)
  end,
  text = function(block, lines, levels)
    add(lines, levels, M.split(block.text), false)
  end,
  thought = function(block, lines, levels)
    local quoted = vim.tbl_map(function(line)
      return line == '' and '>' or '> ' .. line
    end, M.split(block.text))
    table.insert(quoted, 1, '> Thinking')
    add(lines, levels, quoted, true)
  end,
  plan = function(block, lines, levels)
    add(lines, levels, { 'Plan' }, false)
    for _, entry in ipairs(block.entries) do
      add(lines, levels, { ('- %s %s'):format(marks[entry.status] or '[ ]', one_line(entry.content)) }, false)
    end
  end,
  tool = function(block, lines, levels)
    local call = block.call or {}
    local title = call.title and call.title ~= '' and call.title or call.kind or 'tool'
    add(lines, levels, { ('%s %s'):format(marks[call.status] or marks.pending, one_line(title)) }, false)
    for _, item in ipairs(call.content or {}) do
      if item.type == 'diff' then
        add(lines, levels, M.fence(M.unified(item), 'diff'), false)
      elseif item.type == 'content' then
        local text = M.text_of(item.content)
        if text ~= '' and call.status == 'in_progress' then
          add(lines, levels, M.fence(last_lines(text), 'text'), false)
        elseif text ~= '' then
          add(lines, levels, M.fence(text, 'text'), true)
        end
      end
    end
  end,
}

--- The lines of a block of the conversation, with their fold levels.
---@param block copydesk.Block
---@return string[] lines
---@return (integer|string)[] levels
function M.block(block)
  local lines, levels = {}, {}
  if block.gap then
    add(lines, levels, { '' }, false)
  end
  renderers[block.kind](block, lines, levels)
  return lines, levels
end

--- All that would be done: diffs whole, texts whole, and the arguments where the daemon gives neither.
---@param call table
---@param title string What is shown where there is nothing else.
---@return string[] lines
---@return string filetype
function M.preview(call, title)
  local content = vim.tbl_filter(function(item)
    return item.type == 'diff' or M.text_of(item.content) ~= ''
  end, call.content or {})
  local only_diffs = #content > 0 and not vim.iter(content):any(function(item)
    return item.type ~= 'diff'
  end)
  local lines = {}
  for _, item in ipairs(content) do
    if item.type ~= 'diff' then
      vim.list_extend(lines, vim.split((M.text_of(item.content):gsub('\n$', '')), '\n', { plain = true }))
    elseif only_diffs then
      vim.list_extend(lines, vim.split((M.unified(item):gsub('\n$', '')), '\n', { plain = true }))
    else
      vim.list_extend(lines, M.fence(M.unified(item), 'diff'))
    end
  end
  if #lines == 0 and call.rawInput ~= nil then
    local command = type(call.rawInput) == 'table' and call.rawInput.command
    lines = vim.split(type(command) == 'string' and command or vim.inspect(call.rawInput), '\n', { plain = true })
  end
  if #lines == 0 then
    lines = { title }
  end
  return lines, only_diffs and 'diff' or 'markdown'
end

return M

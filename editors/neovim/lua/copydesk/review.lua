-- Looking through the agent's changes: from hunk to hunk, over all files, with a decision on each. The list is kept by `changes`, where a
-- hunk stands by `hunks`.

local changes = require('copydesk.changes')
local client = require('copydesk.client')
local files = require('copydesk.files')
local hunks = require('copydesk.hunks')
local log = require('copydesk.log')
local render = require('copydesk.render')
local windows = require('copydesk.windows')

local M = {}

---@class copydesk.Place Where a hunk is to be found.
---@field path string
---@field row integer From 0.

local done_words = { accept = 'accepted', reject = 'rejected' }

---@param count integer
---@return string
local function plural(count)
  return count == 1 and '1 hunk' or count .. ' hunks'
end

--- Whether there is something to look through; says so where there is not.
---@return boolean
local function is_ready()
  if client.status() == 'ready' and not changes.is_offered() then
    log.tell('this daemon does not list its changes: update it', vim.log.levels.WARN)
    return false
  end
  if changes.count() == 0 then
    log.tell('there are no changes to decide on')
    return false
  end
  return true
end

--- The places of all hunks that stand in a text, file by file, each from the top down.
---@return copydesk.Place[]
local function places()
  local buffer_of = files.index()
  local order, rows = {}, {}
  changes.each(function(_, file, undecided)
    if file.kind == 'deleted' or file.binary then
      return
    end
    local path = files.path(file.uri)
    if not rows[path] then
      rows[path] = {}
      order[#order + 1] = path
      local buffer = buffer_of(file.uri)
      for _, at in ipairs(buffer and hunks.all(buffer) or {}) do
        rows[path][#rows[path] + 1] = at.first
      end
      rows[path].live = #rows[path] > 0
    end
    for _, hunk in ipairs(rows[path].live and {} or undecided) do
      local first = hunks.rows(hunk.range)
      rows[path][#rows[path] + 1] = hunks.kind(hunk) == 'delete' and math.max(first - 1, 0) or first
    end
  end)
  local found = {}
  for _, path in ipairs(order) do
    table.sort(rows[path])
    for index, row in ipairs(rows[path]) do
      if row ~= rows[path][index - 1] then
        found[#found + 1] = { path = path, row = row }
      end
    end
  end
  return found
end

--- The index of the place that comes next, seen from a row of a file.
---@param all copydesk.Place[]
---@param path string
---@param row integer
---@param step 1|-1
---@return integer
local function beside(all, path, row, step)
  local last_of_file
  for index = step > 0 and 1 or #all, step > 0 and #all or 1, step do
    local place = all[index]
    if place.path == path then
      if (place.row - row) * step > 0 then
        return index
      end
      last_of_file = index
    end
  end
  -- Behind the last of this file, or in a file that has none.
  local start = last_of_file or (step > 0 and 0 or #all + 1)
  return (start - 1 + step) % #all + 1
end

--- Goes to the next or an earlier hunk that is undecided, in this file or another.
---@param step 1|-1
---@param count integer
local function go(step, count)
  if not is_ready() then
    return
  end
  local all = places()
  if #all == 0 then
    log.tell('what is undecided has no lines to go to: files were deleted, or are no text. See :CopydeskChanges')
    return
  end
  local path = files.path(vim.uri_from_bufnr(0))
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local index = (beside(all, path, row, step) - 1 + step * (count - 1)) % #all + 1
  local place = all[index]
  if windows.show(place.path, place.row) then
    vim.api.nvim_echo({ { ('hunk %d of %d: %s'):format(index, #all, render.short(place.path)) } }, false, {})
  end
end

---@param count? integer
function M.next(count)
  go(1, count or 1)
end

---@param count? integer
function M.previous(count)
  go(-1, count or 1)
end

--- Says what could not be decided, and how much was where that is not to be seen at once.
---@param verdict 'accept'|'reject'
---@param results copydesk.ChangesResult[]
---@param is_single boolean
local function report(verdict, results, is_single)
  local decided, left = 0, {}
  for _, result in ipairs(results) do
    decided = decided + #(result.decided or {})
    for _, hunk in ipairs(result.undecided or {}) do
      if not vim.list_contains(left, hunk.reason) then
        left[#left + 1] = hunk.reason
      end
    end
  end
  if #left > 0 then
    local done = decided > 0 and ('%s %s; '):format(plural(decided), done_words[verdict]) or ''
    log.tell(('%snot %s: %s'):format(done, done_words[verdict], table.concat(left, '; ')), vim.log.levels.WARN)
  elseif not is_single or decided == 0 then
    log.tell(decided > 0 and ('%s %s'):format(plural(decided), done_words[verdict]) or 'there was nothing to decide')
  end
end

--- Sends the decisions, a request a session, and tells of all of them together.
---@param verdict 'accept'|'reject'
---@param choices table<string, copydesk.HunkChoice> By session.
---@param is_single boolean
local function decide(verdict, choices, is_single)
  local waiting, results = vim.tbl_count(choices), {}
  for session, choice in pairs(choices) do
    changes.decide(session, verdict, choice, function(err, result)
      waiting = waiting - 1
      if err then
        log.tell(('the changes were not %s: %s'):format(done_words[verdict], err), vim.log.levels.ERROR)
      end
      results[#results + 1] = result
      if waiting == 0 and #results > 0 then
        report(verdict, results, is_single)
      end
    end)
  end
end

---@param stands copydesk.Stand[]
---@return table<string, copydesk.HunkChoice>
local function choices_of(stands)
  local choices = {}
  for _, at in ipairs(stands) do
    choices[at.session] = choices[at.session] or { hunks = {} }
    table.insert(choices[at.session].hunks, at.hunk.id)
  end
  return choices
end

--- The choices of all files that match.
---@param matches fun(path: string): boolean
---@return table<string, copydesk.HunkChoice>
local function choices_in(matches)
  local choices = {}
  changes.each(function(session, file)
    if matches(files.path(file.uri)) then
      choices[session] = choices[session] or { files = {} }
      table.insert(choices[session].files, file.uri)
    end
  end)
  return choices
end

--- Accepts or rejects the hunk at the cursor, those of the lines, those of a file, or all.
---@param verdict 'accept'|'reject'
---@param what? string 'file', 'all', or a path; nil: the hunk at the cursor, or those of the range.
---@param range? { [1]: integer, [2]: integer } Lines of the current buffer, from 1, both included.
function M.decide(verdict, what, range)
  if not is_ready() then
    return
  end
  if what == 'all' then
    decide(
      verdict,
      choices_in(function()
        return true
      end),
      false
    )
    return
  end
  if what and what ~= '' then
    local name = what == 'file' and vim.api.nvim_buf_get_name(0) or vim.fn.fnamemodify(what, ':p')
    local path = vim.uv.fs_realpath(name) or vim.fs.normalize(name)
    local choices = choices_in(function(other)
      return other == path
    end)
    if not next(choices) then
      log.tell(('there are no changes to decide on in %s'):format(render.short(path)))
      return
    end
    decide(verdict, choices, false)
    return
  end
  local stands
  if range then
    stands = hunks.within(0, range[1] - 1, range[2] - 1)
  else
    stands = { hunks.at(0, vim.api.nvim_win_get_cursor(0)[1] - 1) }
  end
  if #stands == 0 then
    log.tell(('there is no hunk %s; :CopydeskNext leads to one'):format(range and 'in these lines' or 'here'))
    return
  end
  decide(verdict, choices_of(stands), #stands == 1)
end

--- For the command line: what can be decided on.
---@param lead string
---@return string[]
function M.complete(lead)
  local found = { 'file', 'all' }
  if package.loaded['copydesk.changes'] then
    changes.each(function(_, file)
      local name = render.short(vim.uri_to_fname(file.uri))
      if not vim.list_contains(found, name) then
        found[#found + 1] = name
      end
    end)
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, found)
end

--- Shows the hunk at the cursor: what stood there before, and what stands there now.
function M.hunk()
  local at = hunks.at(0, vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not at then
    if is_ready() then
      log.tell('there is no hunk here; :CopydeskNext leads to one')
    end
    return
  end
  windows.float(render.hunk(at.hunk.oldText, at.hunk.newText), 'diff')
end

---@param file copydesk.FileChanges
---@param text string
---@param row? integer
---@return vim.quickfix.entry
local function entry(file, text, row)
  return { filename = vim.uri_to_fname(file.uri), lnum = row and row + 1 or nil, text = text }
end

--- Lists what is undecided in the quickfix window.
function M.list()
  if not is_ready() then
    return
  end
  local buffer_of = files.index()
  local items = {}
  changes.each(function(session, file, undecided)
    if file.kind == 'deleted' or file.binary then
      items[#items + 1] = entry(file, file.kind .. (file.binary and ', no text' or ''), 0)
      return
    end
    local buffer = buffer_of(file.uri)
    -- Ids are a session's own.
    local rows = {}
    for _, at in ipairs(buffer and hunks.all(buffer) or {}) do
      if at.session == session then
        rows[at.hunk.id] = at.first
      end
    end
    for _, hunk in ipairs(undecided) do
      local shown = vim.trim(hunk.newText) ~= '' and '+ ' .. vim.trim(hunk.newText) or '- ' .. vim.trim(hunk.oldText)
      local first = hunks.rows(hunk.range)
      items[#items + 1] = entry(file, render.split(shown)[1], rows[hunk.id] or first)
    end
  end)
  vim.fn.setqflist({}, ' ', { title = 'Changes of Copydesk', items = items })
  vim.cmd('botright copen')
end

return M

-- Questions of the model: the menus that they become, what is answered, and what is no answer.

local harness = require('harness')
local equal, contains = harness.equal, harness.contains

local tests = {}

---@param test fun(child: Child)
local function with(test)
  harness.with(nil, test)
end

local WAY = [[
  local request = form('c1', 'Which way?', {
    q01 = { type = 'string', title = 'Way', description = 'Which way?', oneOf = {
      { const = 'left', title = 'left', description = 'by the sea' },
      { const = 'right', title = 'right' } } },
    q01_other = { type = 'string', title = 'Something else' },
  })
]]
local ANSWER = [[
  local answer = await(request)
  local function shown(value)
    return type(value) == 'table' and table.concat(value, '+') or tostring(value)
  end
  local content = answer.content or {}
  say(('answer %s %s %s %s.'):format(answer.action, shown(content.q01), shown(content.q01_other), shown(content.q02)))
  finish()
]]

function tests.a_dismissed_menu_is_no_answer_and_comes_back()
  with(function(child)
    child:prompt(WAY .. ANSWER)
    child:pick(1, nil)
    child:wait("return require('copydesk.ask').count() == 1", 'the question')
    child:command('CopydeskAnswer')
    child:pick(2, 'right')
    child:wait_chat('answer accept right nil nil.')
  end)
end

--- Has the call of this number of a function of `vim.ui`, from now on, fail.
---@param child Child
---@param name 'select'|'input'
---@param number integer
local function fail(child, name, number)
  child:lua(
    [[
    local name, left = ...
    local original = vim.ui[name]
    vim.ui[name] = function(...)
      left = left - 1
      if left == 0 then error('E565: not now') end
      return original(...)
    end
  ]],
    name,
    number
  )
end

function tests.a_question_whose_menu_fails_is_no_answer_and_still_waits()
  ---@param what string
  ---@param begin fun(child: Child) Up to the menu that fails.
  ---@param finish fun(child: Child) From the menu that comes up by the command.
  ---@param expected string
  local function check(what, begin, finish, expected)
    with(function(child)
      begin(child)
      child:wait('return #_G.told > 0', what)
      contains(child:told(), 'the menu failed: ', what)
      contains(child:told(), 'E565: not now', what)
      contains(child:told(), 'still waits for an answer: :CopydeskAnswer', what)
      -- What is asked next comes up as ever.
      local menus = child:lua('return #_G.menus')
      child:lua([[
        require('copydesk.ask').add({ sessionId = 's1', toolCall = { toolCallId = 'c2', title = 'Next' },
          options = { { optionId = 'no', name = 'Reject', kind = 'reject_once' } } }, function() end)
      ]])
      equal(child:menu(menus + 1).prompt, 'Copydesk: Next', what)
      child:pick(menus + 1, 'Reject')
      child:command('CopydeskAnswer')
      finish(child)
      child:wait_chat(expected)
    end)
  end
  check('the menu', function(child)
    fail(child, 'select', 1)
    child:prompt(WAY .. ANSWER)
  end, function(child)
    child:pick(2, 'right')
  end, 'answer accept right nil nil.')
  check('the line for own words', function(child)
    fail(child, 'input', 1)
    child:prompt(WAY .. ANSWER)
    child:pick(1, 'Something else …')
  end, function(child)
    child:pick(3, 'left: by the sea')
  end, 'answer accept left nil nil.')
  check('the second question', function(child)
    fail(child, 'select', 2)
    child:prompt([[
      local request = form('c1', 'Two', {
        q01 = { type = 'string', title = 'One', enum = { 'a', 'b' } },
        q02 = { type = 'string', title = 'Two', enum = { 'c', 'd' } },
      })
    ]] .. ANSWER)
    child:pick(1, 'a')
  end, function(child)
    child:pick(3, 'd')
  end, 'answer accept a nil d.')
end

function tests.a_question_can_be_dismissed()
  with(function(child)
    child:prompt(WAY .. ANSWER)
    child:pick(1, 'Dismiss the question')
    child:wait_chat('answer decline nil nil nil.')
  end)
end

function tests.a_question_is_a_menu_with_room_for_own_words()
  with(function(child)
    child:prompt(WAY .. ANSWER)
    local menu = child:menu(1)
    equal(menu.prompt, 'Copydesk: Which way?', 'the question')
    equal(menu.rows, { 'left: by the sea', 'right', 'Something else …', 'Dismiss the question' }, 'the answers')
    child:pick(1, 'Something else …')
    child:wait('return #_G.inputs == 1', 'the input')
    child:lua("_G.inputs[1].done('  ')")
    child:pick(2, 'Something else …')
    child:wait('return #_G.inputs == 2', 'the input')
    child:lua("_G.inputs[2].done('straight on')")
    child:wait_chat('answer accept nil straight on nil.')
  end)
end

function tests.r16_3_questions_and_asks_are_answered_in_any_order()
  with(function(child)
    child:prompt([[
      local allow = ask({ toolCallId = 'c9', title = 'Run make' })
    ]] .. WAY .. [[
      say('question ' .. await(request).content.q01 .. '. ')
      say('ask ' .. await(allow).outcome.optionId .. '.')
      finish()
    ]])
    child:wait("return require('copydesk.ask').count() == 2", 'both')
    equal(child:menu(1).prompt, 'Copydesk: Run make', 'one menu at a time')
    child:command('CopydeskAnswer')
    equal(child:menu(2).rows, { 'Run make', 'Which way?' }, 'what waits')
    child:pick(2, 'Which way?')
    child:pick(3, 'left: by the sea')
    child:wait_chat('question left.')
    child:pick(4, 'Allow')
    child:wait_chat('ask yes.')
  end)
end

function tests.r2_3_a_cancel_answers_the_questions_that_wait()
  with(function(child)
    child:prompt(WAY .. ANSWER)
    child:menu(1)
    child:command('CopydeskCancel')
    child:wait_chat('answer cancel nil nil nil.')
    equal(child:lua("return require('copydesk.ask').count()"), 0, 'nothing waits')
  end)
end

function tests.several_answers_are_switched_and_several_questions_follow_each_other()
  with(function(child)
    child:prompt([[
      local request = form('c1', '1. Which?\n2. Why?', {
        q01 = { type = 'array', title = 'Which', description = 'Which of them?', items = { anyOf = {
          { const = 'a', title = 'a' }, { const = 'b', title = 'b' } } } },
        q02 = { type = 'string', title = 'Why?', description = 'In your own words' },
      })
    ]] .. ANSWER)
    equal(child:menu(1).prompt, 'Copydesk: Which of them?', 'the first question')
    equal(child:menu(1).rows, { '[ ] a', '[ ] b', 'That is all', 'Dismiss the question' }, 'nothing is chosen')
    child:pick(1, '[ ] b')
    child:pick(2, '[ ] a')
    child:pick(3, '[x] b')
    child:pick(4, '[ ] b')
    child:pick(5, 'That is all')
    child:wait('return #_G.inputs == 1', 'the input')
    equal(child:lua('return _G.inputs[1].prompt'), 'Why? ', 'the second question')
    child:lua("_G.inputs[1].done('because')")
    child:wait_chat('answer accept a+b nil because.')
  end)
end

local LINE = [[
  local request = form('c1', 'The command asks: Password:', { line = { type = 'string', title = 'Password:' } }, %s)
  local answer = await(request)
  say(('answer %%s <%%s>.'):format(answer.action, answer.content and answer.content.line))
  finish()
]]

function tests.c49_a_secret_is_typed_unseen()
  with(function(child)
    child:lua([[vim.fn.inputsecret = function(options)
      _G.secret = options.prompt
      return 'hunter2'
    end]])
    child:prompt(LINE:format('{ copydesk = { input = true, secret = true } }'))
    child:wait_chat('answer accept <hunter2>.')
    equal(child:lua('return _G.secret'), 'The command asks: Password: ', 'the question')
    equal(child:lua('return #_G.inputs'), 0, 'no other input has seen it')
  end)
end

function tests.c49_a_secret_that_is_not_given_is_declined()
  with(function(child)
    child:lua('vim.fn.inputsecret = function(options) return options.cancelreturn end')
    child:prompt(LINE:format('{ copydesk = { input = true, secret = true } }'))
    child:wait_chat('answer decline <nil>.')
  end)
end

function tests.c49_an_empty_line_for_a_command_is_one()
  with(function(child)
    child:prompt(LINE:format('{ copydesk = { input = true, secret = false } }'))
    child:wait('return #_G.inputs == 1', 'the input')
    child:lua("_G.inputs[1].done('')")
    child:wait_chat('answer accept <>.')
  end)
end

return tests
